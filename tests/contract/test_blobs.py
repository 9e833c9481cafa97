"""What every container does, in memory and on the emulator."""

import pytest

from shared.domain.errors import ConflictError

RAW = "owner-1/0198640d-c000-7000-8000-000000000001/raw"


def put(blobs, name=RAW, data=b"photo"):
    return blobs.put(name, data, content_type="image/jpeg")


def test_blobs_return_what_was_put(blobs):
    """The bytes come back as they were."""
    put(blobs, data=bytes(range(256)) * 64)
    assert blobs.read(RAW) == bytes(range(256)) * 64


def test_blobs_put_overwrites(blobs):
    """A run that is repeated writes the same name again."""
    first = put(blobs, data=b"one")
    second = put(blobs, data=b"two")
    assert blobs.read(RAW) == b"two"
    assert first != second


def test_blobs_read_of_a_missing_one_is_none(blobs):
    """A blob that is not there is no error."""
    assert blobs.read("nothing") is None


def test_blobs_read_with_the_known_etag(blobs):
    """The photo that was submitted is read."""
    assert blobs.read(RAW, etag=put(blobs)) == b"photo"


def test_blobs_read_of_a_replaced_one_is_refused(blobs):
    """A photo that was replaced after it was submitted is noticed."""
    old = put(blobs)
    put(blobs, data=b"another")
    with pytest.raises(ConflictError):
        blobs.read(RAW, etag=old)


def test_blobs_read_of_a_missing_one_with_an_etag_is_none(blobs):
    """Gone is not changed."""
    old = put(blobs)
    blobs.delete(RAW)
    assert blobs.read(RAW, etag=old) is None


def test_blobs_info_tells_size_type_and_etag(blobs):
    """What is known without reading."""
    etag = put(blobs, data=b"12345")
    info = blobs.info(RAW)
    assert (info.size, info.content_type, info.etag) == (5, "image/jpeg", etag)


def test_blobs_info_of_a_missing_one_is_none(blobs):
    """A direct upload that has not come yet."""
    assert blobs.info("nothing") is None


def test_blobs_delete_twice_is_fine(blobs):
    """Two sweeps of one draft both succeed."""
    put(blobs)
    blobs.delete(RAW)
    blobs.delete(RAW)
    assert blobs.read(RAW) is None


def test_blobs_names_are_those_of_the_prefix(blobs):
    """One draft's prefix, and no other draft's."""
    for name in ("o/a/raw", "o/a/1-1/mask.png", "o/ab/raw", "o/b/raw", "p/a/raw"):
        put(blobs, name)
    assert sorted(blobs.names("o/a/")) == ["o/a/1-1/mask.png", "o/a/raw"]


def test_blobs_names_of_an_unknown_prefix_are_none(blobs):
    """Nothing under a prefix is no error."""
    assert list(blobs.names("o/zzz/")) == []


def test_blobs_empty_content_is_kept(blobs):
    """No bytes are bytes too."""
    put(blobs, data=b"")
    assert blobs.read(RAW) == b""


def test_blobs_delete_with_an_old_etag_is_refused(blobs):
    """What was written since is not what was meant."""
    old = put(blobs)
    put(blobs, data=b"newer")
    with pytest.raises(ConflictError):
        blobs.delete(RAW, etag=old)
    assert blobs.read(RAW) == b"newer"
    blobs.delete(RAW, etag=blobs.info(RAW).etag)
    assert blobs.read(RAW) is None
