"""One catalogue for all tests here: it is read-only."""

import pytest

from rltui.catalogue import Catalogue, load_catalogue


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return load_catalogue()
