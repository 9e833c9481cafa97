"""One Azure table behind the Table port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from azure.core import MatchConditions
from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import EdmType, EntityProperty, TableClient, UpdateMode

from shared.domain.errors import ConflictError
from shared.ports import Change, Delete, Insert, Replace, Row, Span, Value
from shared.storage.translate import error_code, translate_storage_errors

_INT32 = range(-(2**31), 2**31)


class AzureTable:
    """Conditional writes only, except `put`, which is for rows that no one else decides about."""

    def __init__(self, client: TableClient) -> None:
        self._client = client

    def get(self, partition: str, key: str) -> Row | None:
        with translate_storage_errors():
            try:
                return _row(self._client.get_entity(partition, key))
            except ResourceNotFoundError as error:
                if error_code(error) == "TableNotFound":
                    raise
                return None

    def put(self, row: Row) -> str:
        with translate_storage_errors():
            answer = self._client.upsert_entity(_entity(row), mode=UpdateMode.REPLACE)
        return str(answer["etag"])

    def delete(self, row: Row) -> None:
        fence = (
            {"etag": row.etag, "match_condition": MatchConditions.IfNotModified} if row.etag else {}
        )
        with translate_storage_errors():
            try:
                self._client.delete_entity(row.partition, row.key, **fence)  # type: ignore[call-overload]
            except ResourceNotFoundError as error:
                if error_code(error) == "TableNotFound":
                    raise

    def transact(self, changes: Sequence[Change]) -> list[str]:
        if len(changes) == 1 and not isinstance(changes[0], Delete):
            return [self._apply(changes[0])]
        with translate_storage_errors():
            answers = self._client.submit_transaction([_operation(change) for change in changes])
        return [str(answer.get("etag") or "") for answer in answers]

    def _apply(self, change: Insert | Replace) -> str:
        """A single write is one plain call: cheaper than a transaction of one.

        Not so a delete: the SDK passes over a row that is missing, a transaction does not.
        """
        with translate_storage_errors():
            match change:
                case Insert(row):
                    return str(self._client.create_entity(_entity(row))["etag"])
                case Replace(row):
                    answer = self._client.update_entity(
                        _entity(row),
                        mode=UpdateMode.REPLACE,
                        etag=_known(row),
                        match_condition=MatchConditions.IfNotModified,
                    )
                    return str(answer["etag"])

    def query(self, span: Span, *, page: int = 1000) -> Iterator[Row]:
        text, parameters = _filter(span)
        with translate_storage_errors():
            for entity in self._client.query_entities(
                text, parameters=parameters, results_per_page=page
            ):
                yield _row(entity)


def _known(row: Row) -> str:
    """The ETag of a conditional write; without one Azure would overwrite whatever is there."""
    if not row.etag:
        raise ConflictError("a conditional write needs the ETag that was read")
    return row.etag


def _operation(change: Change) -> tuple[str, dict[str, Any], dict[str, Any]]:
    if isinstance(change, Insert):
        return ("create", _entity(change.row), {})
    fence = {"etag": _known(change.row), "match_condition": MatchConditions.IfNotModified}
    if isinstance(change, Replace):
        return ("update", _entity(change.row), {"mode": UpdateMode.REPLACE} | fence)
    return ("delete", _entity(change.row), fence)


def _entity(row: Row) -> dict[str, Any]:
    values = {name: _edm(value) for name, value in row.values.items()}
    return {"PartitionKey": row.partition, "RowKey": row.key} | values


def _edm(value: Value) -> Any:
    """Whole numbers past 32 bits must say that they are Int64, or the SDK refuses them."""
    if isinstance(value, int) and not isinstance(value, bool) and value not in _INT32:
        return EntityProperty(value, EdmType.INT64)
    return value


def _row(entity: Mapping[str, Any]) -> Row:
    etag = str(entity.metadata["etag"])  # type: ignore[attr-defined]
    values = {
        name: _plain(value)
        for name, value in entity.items()
        if name not in ("PartitionKey", "RowKey", "Timestamp")
    }
    return Row(str(entity["PartitionKey"]), str(entity["RowKey"]), values, etag)


def _plain(value: Any) -> Value:
    if isinstance(value, EntityProperty):
        value = value.value
    if isinstance(value, datetime):  # drops the SDK's subclass, which carries a seventh digit
        return datetime.combine(value.date(), value.timetz()).astimezone(UTC)
    return value


def _filter(span: Span) -> tuple[str, dict[str, str]]:
    ends = (
        ("PartitionKey eq @p", "p", span.partition),
        ("PartitionKey lt @p1", "p1", span.partition_to),
        ("RowKey ge @k0", "k0", span.key_from),
        ("RowKey gt @k1", "k1", span.key_after),
        ("RowKey lt @k2", "k2", span.key_to),
        ("RowKey le @k3", "k3", span.key_last),
    )
    used = [(text, name, value) for text, name, value in ends if value is not None]
    return " and ".join(text for text, _, _ in used), {name: value for _, name, value in used}
