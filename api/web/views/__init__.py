"""All kinds of pages, by topic. A module exports VIEWS."""

from api.web.page import View
from api.web.views import (
    address,
    chains,
    emitter,
    home,
    message,
    milestone,
    output,
    requests,
    search,
    transaction,
    vaa,
    wormhole,
)

VIEWS: tuple[View, ...] = (
    *address.VIEWS,
    *chains.VIEWS,
    *emitter.VIEWS,
    *home.VIEWS,
    *message.VIEWS,
    *milestone.VIEWS,
    *output.VIEWS,
    *requests.VIEWS,
    *search.VIEWS,
    *transaction.VIEWS,
    *vaa.VIEWS,
    *wormhole.VIEWS,
)
