"""Answers for people: where time goes, what would be, what frameworks take."""
