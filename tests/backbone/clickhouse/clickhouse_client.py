"""`clickhouse client` for tests: says the statements of standard input to a server over HTTP.

python -m tests.backbone.clickhouse.clickhouse_client ADDRESS USER PASSWORD <STATEMENTS
"""

import sys

import urllib3

from benanza_backbone.clickhouse.migrations import statements


def say(address: str, user: str, password: str, sql: str, database: str = "default") -> None:
    """Runs the statements one after the other. Fails with what the server says of one."""
    for statement in statements(sql):
        answer = urllib3.request(
            "POST",
            f"http://{address}/?database={database}",
            body=statement.encode(),
            headers=urllib3.util.make_headers(basic_auth=f"{user}:{password}"),
            timeout=60,
        )
        assert answer.status == 200, answer.data.decode()


if __name__ == "__main__":
    address, user, password = sys.argv[1:]
    say(address, user, password, sys.stdin.read())
