"""All kinds of pages, by topic. A module exports VIEWS."""

from api.web.page import View
from api.web.views import (
    address,
    chains,
    coverage,
    day,
    emitter,
    home,
    message,
    milestone,
    output,
    requests,
    richest,
    search,
    statistics,
    tag,
    transaction,
    vaa,
    wormhole,
)

VIEWS: tuple[View, ...] = (
    *address.VIEWS,
    *chains.VIEWS,
    *coverage.VIEWS,
    *day.VIEWS,
    *emitter.VIEWS,
    *home.VIEWS,
    *message.VIEWS,
    *milestone.VIEWS,
    *output.VIEWS,
    *requests.VIEWS,
    *richest.VIEWS,
    *search.VIEWS,
    *statistics.VIEWS,
    *tag.VIEWS,
    *transaction.VIEWS,
    *vaa.VIEWS,
    *wormhole.VIEWS,
)
