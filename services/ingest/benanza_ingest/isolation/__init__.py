"""Models fetched and taken apart in processes that they may crash, hang or take over."""
