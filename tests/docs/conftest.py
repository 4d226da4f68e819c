"""A browser for the site."""

from tests.browser import browser as browser
