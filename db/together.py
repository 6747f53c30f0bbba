"""Runs coroutines of a request at the same time."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def together(*coroutines: Coroutine[Any, Any, Any]) -> list[Any]:
    """Returns the results of coroutines in their order. If one raises, the others have ended before its error is
    raised: no work for a request outlasts its response, which asyncio.gather allows.
    """
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
