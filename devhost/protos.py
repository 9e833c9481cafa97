"""Stand-ins for the messages of the worker protocol, as far as the worker library touches them.

The library makes every message by keyword and reads its attributes, so no protobuf is needed.
"""

from types import SimpleNamespace
from typing import Any, ClassVar


class TypedData(SimpleNamespace):
    """A value under the name of its kind; without any it is an absent value."""

    KINDS: ClassVar = ("string", "bytes", "json", "http", "int", "double")

    def WhichOneof(self, _group: str) -> str | None:  # noqa: N802 - the protocol's name
        """The kind, or None."""
        return next((kind for kind in self.KINDS if getattr(self, kind, None) is not None), None)


class ParameterBinding(SimpleNamespace):
    """`name` and `data`."""

    def WhichOneof(self, _group: str) -> str:  # noqa: N802 - the protocol's name
        """Data always comes with the message, never by shared memory."""
        return "data"


class StatusResult(SimpleNamespace):
    """`status`, and `exception` after a failure."""

    Failure, Success, Cancelled = 0, 1, 2


class BindingInfo(SimpleNamespace):
    """`type`, `data_type`, `direction`."""

    out, inout = 1, 2


class RpcHttpCookie(SimpleNamespace):
    """A cookie; its optional parts are wrapped in objects with a `value`."""

    SameSite = SimpleNamespace(Lax=1, Strict=2, ExplicitNone=3)


setattr(RpcHttpCookie.SameSite, "None", 0)

PLAIN = (
    "FunctionLoadResponse FunctionMetadataResponse InvocationResponse NullableBool NullableDouble "
    "NullableString NullableTimestamp RpcException RpcFunctionMetadata RpcHttp RpcRetryOptions "
    "Timestamp WorkerInitResponse WorkerMetadata"
)
protos = SimpleNamespace(
    TypedData=TypedData,
    ParameterBinding=ParameterBinding,
    StatusResult=StatusResult,
    BindingInfo=BindingInfo,
    RpcHttpCookie=RpcHttpCookie,
    **{name: type(name, (SimpleNamespace,), {}) for name in PLAIN.split()},
)


def typed_data(data: tuple[str, Any] | None) -> TypedData:
    """What the host sent, as the library reads it; an HTTP request holds its body the same way."""
    if data is None:
        return TypedData()
    kind, value = data
    if kind == "http":
        value = SimpleNamespace(**{**value, "body": typed_data(value["body"])})
    return TypedData(**{kind: value})


def plain_data(data: Any) -> tuple[str, Any] | None:
    """What the library answered, as it goes to the host."""
    kind = data.WhichOneof("data") if data is not None else None
    if kind is None:
        return None
    value = getattr(data, kind)
    return kind, _plain_http(value) if kind == "http" else value


def _plain_http(response: Any) -> dict[str, Any]:
    return {
        "status": response.status_code,
        "headers": dict(response.headers),
        "cookies": [_plain_cookie(cookie) for cookie in response.cookies or ()],
        "body": plain_data(response.body),
    }


def _plain_cookie(cookie: Any) -> dict[str, Any]:
    plain = {name: _unwrap(value) for name, value in vars(cookie).items()}
    return {name: value for name, value in plain.items() if value not in (None, "")}


def _unwrap(value: Any) -> Any:
    while hasattr(value, "value"):
        value = value.value
    return getattr(value, "seconds", value)
