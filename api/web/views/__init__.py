"""All kinds of pages, by topic. A module exports VIEWS."""

from api.web.page import View
from api.web.views import home, milestone, search

VIEWS: tuple[View, ...] = (*home.VIEWS, *milestone.VIEWS, *search.VIEWS)
