from benanza_analyzer.models.catalogue import NOTHING, Catalogue


def test_a_fingerprint_keeps_its_number() -> None:
    catalogue = Catalogue()
    numbers = [catalogue.number(fingerprint) for fingerprint in ("a", "b", "a", "c", "b")]
    assert numbers == [1, 2, 1, 3, 2]
    assert NOTHING not in numbers
    assert [catalogue.fingerprints[number] for number in numbers] == ["a", "b", "a", "c", "b"]
    assert len(catalogue) == 4


def test_work_is_zero_until_it_is_described() -> None:
    catalogue = Catalogue()
    first, second = catalogue.number("a"), catalogue.number("b")
    catalogue.describe(second, flops=2**60, bytes_moved=7)
    assert (catalogue.flops[first], catalogue.bytes[first]) == (0.0, 0.0)
    assert (catalogue.flops[second], catalogue.bytes[second]) == (2.0**60, 7.0)
