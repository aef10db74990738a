"""The databases that tests are given: empty, of both kinds, and each test's own."""

from __future__ import annotations

import psycopg
import pytest
import sqlalchemy as sa
from tests.postgresql import Cluster


@pytest.mark.parametrize("time", ["first", "second"])
def test_a_database_is_empty_whatever_the_test_before_left_in_it(database: str, time: str) -> None:
    engine = sa.create_engine(database.replace("postgresql:", "postgresql+psycopg:"))
    assert sa.inspect(engine).get_table_names() == []
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE left_behind (number INTEGER)"))
    engine.dispose()


def test_connections_can_be_cut(postgresql: Cluster) -> None:
    name = postgresql.new()
    connection = psycopg.connect(postgresql.url(name), autocommit=True)
    assert postgresql.disconnect(name) == 1
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    connection.close()
    postgresql.drop(name)
