"""Queries that may run over the lake: SELECT, WITH and VALUES over its tables and views, with pure functions.

Spark SQL can start programs (`TRANSFORM … USING`), call Java (`reflect`) and read any file (``csv.`/etc/passwd` ``).
So a query is parsed, every part of its tree must be known here, and Spark gets the SQL that is written from the tree.

Invariants:
1. What is not listed is rejected: nodes in SYNTAX and, by name, functions in FUNCTIONS.
2. Functions are checked in the SQL that Spark gets, by its tokens. Identifiers are quoted there, so a name before a
   bracket is a word of SQL or a function.
"""

import re
from collections.abc import Collection, Iterator
from itertools import pairwise

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from etl.lake.pure_functions import FUNCTIONS

DIALECT = "spark"

QUERY_MAX = 100_000
"""Most characters of a query."""

SYNTAX: tuple[type[exp.Expr], ...] = (
    *(exp.Select, exp.SetOperation, exp.Subquery, exp.Values, exp.With, exp.CTE, exp.Table, exp.TableAlias),
    *(exp.From, exp.Join, exp.Lateral, exp.Where, exp.Having, exp.Qualify, exp.Pivot),
    *(exp.Group, exp.GroupingSets, exp.Cube, exp.Rollup, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Distinct),
    *(exp.Column, exp.Identifier, exp.Alias, exp.Aliases, exp.Star, exp.Dot, exp.Bracket, exp.Slice, exp.Paren),
    *(exp.Tuple, exp.Literal, exp.RawString, exp.HexString, exp.Boolean, exp.Null, exp.Interval, exp.IntervalSpan),
    *(exp.Var, exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.Lambda, exp.PropertyEQ, exp.Binary, exp.Unary),
    *(exp.Between, exp.In, exp.Exists, exp.SubqueryPredicate, exp.Escape, exp.Case, exp.If, exp.Window),
    *(exp.WindowSpec, exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.JSONPath, exp.JSONPathPart),
    exp.Func,
)
"""Nodes of a query. Functions (exp.Func) are checked by name."""

WORDS = frozenset(
    """
    all and any as between by case cast cube decimal distinct div else except exists filter from group having ilike in
    intersect interval is join lateral like limit not on or order over partition pivot qualify rlike rollup select sets
    some then try_cast union using values view when where window with
    """.split()  # noqa: SIM905 (as in pure_functions)
)
"""Words of SQL that stand before a bracket."""

NAME = re.compile(r"[\w.-]{1,60}")
"""The name of a table, perhaps misspelled."""

NILADIC = frozenset(
    ["current_date", "current_time", "current_timestamp", "current_user", "localtimestamp", "session_user", "user"]
)
"""Functions that may be called without brackets. None of them is pure."""


class NotAllowed(ValueError):
    """A query contains something that is not listed."""


def check_query(text: str, tables: Collection[str]) -> str:
    """Returns a query as SQL for Spark, if it reads only these tables and calls only pure functions.

    A single word is taken for the name of a table, and rejected.

    Raises ValueError with the reason, in most cases with the line and column.
    """
    if len(text) > QUERY_MAX:
        raise ValueError(f"the query has {len(text)} characters, the maximum is {QUERY_MAX}")
    if NAME.fullmatch(text):
        expected = f"{', '.join(sorted(tables))}, or a query (SELECT, WITH, VALUES)"
        raise NotAllowed(f"{text} is not a table or view of the lake; expected one of {expected}")
    try:
        statements = [each for each in sqlglot.parse(text, dialect=DIALECT) if each is not None]
        if len(statements) != 1 or not isinstance(statements[0], (exp.Query, exp.Values)):
            raise NotAllowed("only a table, a view or a query (SELECT, WITH, VALUES) is exported, no other SQL")
        _check_literals(text)
        lake = {name.lower() for name in tables}
        _check_nodes(statements[0], lake)
        written = statements[0].sql(dialect=DIALECT, identify=True, comments=False)
        # Some aliases are written without quotes, so the checked tree must be that of the written text.
        again = sqlglot.parse_one(written, dialect=DIALECT)
        _check_nodes(again, lake)
        _check_functions(written)
    except SqlglotError as error:
        raise ValueError(f"the query is not valid: {_reason(error)}") from None
    except RecursionError:
        raise ValueError("the query is nested too deeply") from None
    return written


def _check_nodes(query: exp.Expr, tables: set[str]) -> None:
    named = tables | {each.alias.lower() for each in query.find_all(exp.CTE)}
    for node in query.walk():
        if not isinstance(node, SYNTAX):
            raise NotAllowed(f"{_shown(node)} is not allowed in a query")
        if isinstance(node, exp.Table):
            _check_table(node, named, tables)
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            raise NotAllowed(f"{_shown(node)} is not a function that a query can use")
        if isinstance(node, exp.Anonymous) and not isinstance(node.this, str):
            raise NotAllowed(f"{_shown(node)} is not a function that a query can use")
        if unknown := [name for name, value in node.args.items() if value and name in {"into", "hint", "sample"}]:
            raise NotAllowed(f"{unknown[0].upper()} is not allowed in a query")


def _check_table(table: exp.Table, named: set[str], tables: Collection[str]) -> None:
    is_name = isinstance(table.this, exp.Identifier) and not table.db and not table.catalog
    if not is_name or table.name.lower() not in named:
        raise NotAllowed(f"{_shown(table)} is not a table of the lake; expected one of {', '.join(sorted(tables))}")


def _check_literals(text: str) -> None:
    """Rejects 'a''b': the parser reads two texts, Spark one with a quote."""
    for token, following in pairwise(sqlglot.tokenize(text, dialect=DIALECT)):
        if token.token_type is following.token_type is TokenType.STRING and token.end + 1 == following.start:
            raise NotAllowed(f"line {token.line}: two texts side by side; write a quote in a text as \\'")


def _check_functions(written: str) -> None:
    for name in _called(sqlglot.tokenize(written, dialect=DIALECT)):
        if name not in FUNCTIONS:
            raise NotAllowed(f"{name} is not a function that a query can use")


def _called(tokens: list[Token]) -> Iterator[str]:
    """The words before brackets that are not words of SQL, and the names of functions that need no brackets."""
    for token, following in pairwise([*tokens, tokens[-1]]):
        is_word = token.token_type not in {TokenType.IDENTIFIER, TokenType.STRING}
        name = token.text.lower()
        before_bracket = following.token_type is TokenType.L_PAREN and name[:1].isidentifier()
        if is_word and (before_bracket or name in NILADIC) and name.split()[-1] not in WORDS:
            yield name


def _shown(node: exp.Expr) -> str:
    """A part of a query for an error, on one line."""
    text = " ".join(node.sql(dialect=DIALECT, comments=False).split())
    return text if len(text) <= 60 else f"{text[:60]} …"


def _reason(error: SqlglotError) -> str:
    """What a parser says, on one line, with its place."""
    for each in getattr(error, "errors", []):
        near = f" near '{each['highlight']}'" if each.get("highlight") else ""
        return f"line {each['line']}, column {each['col']}{near}: {each['description']}"
    return " ".join(str(error).split())
