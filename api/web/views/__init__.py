"""All kinds of pages, by topic. A module exports VIEWS."""

from api.web.page import View
from api.web.views import home, search

VIEWS: tuple[View, ...] = (*home.VIEWS, *search.VIEWS)
