"""Plans, and the figures that the model's card is made of."""

import numpy as np
import pytest

from training.calibrate import at_temperature, expected_calibration_error, fit_temperature
from training.plan import QUICK_ROUNDS, ROUNDS, Plan, computes_bfloat16


@pytest.mark.parametrize("plan", ROUNDS + QUICK_ROUNDS)
def test_every_epoch_of_a_plan_has_a_size_that_the_network_takes(plan: Plan) -> None:
    sides = [plan.side_at(epoch) for epoch in range(plan.epochs)]
    assert sides == sorted(sides)
    assert all(side % 32 == 0 for side in sides)
    assert plan.mild_epochs < plan.epochs
    assert 0 < plan.run <= plan.epochs
    with pytest.raises(ValueError, match="past the last epoch"):
        plan.side_at(plan.epochs)


@pytest.mark.parametrize(
    ("capabilities", "bfloat16"),
    [
        ({"avx2": True, "avx512_bf16": False, "amx_bf16": False}, False),
        ({"avx2": True, "avx512_f": True, "avx512_bf16": False, "amx_bf16": False}, False),
        ({"avx512_f": True, "avx512_bf16": True, "amx_bf16": False}, True),
        ({"avx512_f": True, "avx512_bf16": True, "amx_bf16": True}, True),
        ({"neon": True}, False),
    ],
)
def test_bfloat16_only_where_the_processor_computes_it(
    capabilities: dict[str, bool], bfloat16: bool
) -> None:
    assert computes_bfloat16(capabilities) is bfloat16


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def test_the_temperature_undoes_logits_that_are_too_large() -> None:
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 2, (4000, 5))
    true = softmax(logits)
    labels = np.array([rng.choice(5, p=shares) for shares in true])
    assert fit_temperature(softmax(logits * 2), labels) == pytest.approx(2, abs=0.15)
    assert at_temperature(softmax(logits * 2), 2) == pytest.approx(true, abs=1e-6)


def test_calibration_error_is_the_gap_of_confidence_and_accuracy() -> None:
    labels = np.array([0, 1] * 50)
    sure = np.full((100, 2), (0.9, 0.1))  # right half of the time
    assert expected_calibration_error(sure, labels) == pytest.approx(0.4)
    even = np.full((100, 2), (0.5, 0.5))
    assert expected_calibration_error(even, labels) == pytest.approx(0)
