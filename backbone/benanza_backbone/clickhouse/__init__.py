"""The store: ClickHouse as a server or in the process, its tables and its queries."""
