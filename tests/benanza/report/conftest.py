"""A browser for reports."""

from tests.browser import browser as browser
