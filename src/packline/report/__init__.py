"""The account of a build: as a table to read, as data to store, as a card to look at."""

from packline.report.card import to_html as to_html
from packline.report.data import to_dict as to_dict
from packline.report.table import explain as explain

__all__ = ["explain", "to_dict", "to_html"]
