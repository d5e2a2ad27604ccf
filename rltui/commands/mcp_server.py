"""The protocol of ``rltui mcp``: tools and documents as a server of the SDK, which is an extra.

What clients are told of a tool is in its docstring: title, description, and a line for each
argument; what it answers in ``docs/schemas/mcp-TOOL.json``.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import quote

from jsonschema import Draft202012Validator
from mcp import MCPError, types
from mcp.server import Server
from mcp.server.stdio import stdio_server

from rltui.core.errors import RltuiError, UsageError
from rltui.core.installation import shipped
from rltui.core.text import Json, clean
from rltui.output import tool_answers as texts
from rltui.output.brief_entry import quoted
from rltui.output.json_text import finite
from rltui.output.tool_answers import DATA, Answer
from rltui.version import __version__

#: Seconds between two notices of progress.
_NOTICE_S = 10.0
#: The most that an argument of a tool may ask for.
_MOST = {
    "points": texts.MOST_POINTS,
    "worst": texts.MOST_SAMPLES,
    "lines": texts.MOST_LINES,
    "seconds": 600,
}
#: Types of arguments in JSON schema; to look for what is like a name takes long for a long one.
_TYPES: dict[str, Json] = {
    "str": {"type": "string", "maxLength": 300},
    "bool": {"type": "boolean"},
    "int": {"type": "integer", "minimum": 1},
    "int | None": {"type": "integer"},
    "Names": {
        "type": "array",
        "items": {"type": "string", "maxLength": 300},
        "maxItems": 99,
    },
}
#: What an agent is told of the server as a whole.
_INSTRUCTIONS = (
    "Verdicts on RL and LLM post-training runs, from their logs. Start with list_runs, then judge; "
    "pass the id of an answer as since to hear only of changes. Read-only: never restart or kill a "
    f"run unless the user asked for it. {DATA}"
)


async def run(server: Server[Any]) -> None:
    """Serve a client on standard input and output."""
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


class Told(NamedTuple):
    """Parts of the docstring of a tool."""

    title: str
    description: str
    arguments: dict[str, str]

    @classmethod
    def of(cls, method: Callable[..., Any]) -> Told:
        """The first line, the next paragraph, and a line for each argument."""
        title, text, *rest = (inspect.getdoc(method) or "").split("\n\n")
        return cls(title, " ".join(text.split()), dict(re.findall(r"(\w+): (.*)", "".join(rest))))


def schema_of(method: Callable[..., Any]) -> Json:
    """JSON schema of the arguments of a tool."""
    properties = {}
    required = []
    words = Told.of(method).arguments
    for name, given in inspect.signature(method).parameters.items():
        most = {"maximum": _MOST[name]} if name in _MOST else {}
        properties[name] = _TYPES[given.annotation] | most | {"description": words[name]}
        if given.default is given.empty:
            required.append(name)
        elif given.default:
            properties[name]["default"] = given.default
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def tool_of(name: str, method: Callable[..., Any], *, text: bool) -> types.Tool:
    """A tool as clients are told of it; ``text``: of one that answers with text alone."""
    told = Told.of(method)
    schema = json.loads(shipped("docs", "schemas", f"mcp-{name}.json").read_text("utf-8"))
    schema.pop("$schema")  # some clients know earlier drafts only, which do for these
    return types.Tool(
        name=name,
        title=told.title,
        description=told.description,
        input_schema=schema_of(method),
        output_schema=None if text else schema,
        annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


class Protocol:
    """Handlers of the requests of a client."""

    def __init__(self, tools: object, resources: Any, *, text: bool) -> None:
        """``tools``: each public method is one; ``resources``: see
        :class:`~rltui.commands.mcp.Resources`; ``text``: answer with texts alone."""
        self._is_text = text
        self._tools = tools
        self._resources = resources
        names = [name for name in vars(type(tools)) if not name.startswith("_")]
        self._known = {name: tool_of(name, getattr(tools, name), text=text) for name in names}

    async def tools(self, _: Any, __: Any) -> types.ListToolsResult:
        """All tools."""
        return types.ListToolsResult(tools=list(self._known.values()))

    async def call(self, context: Any, called: types.CallToolRequestParams) -> types.CallToolResult:
        """Call a tool, with notices of progress while it works."""
        given = called.arguments or {}
        # some clients send null for each argument that they leave out
        arguments = {name: value for name, value in given.items() if value is not None}
        work = asyncio.ensure_future(self.answer(called.name, arguments))
        took = 0.0
        try:
            while not work.done():
                await context.session.report_progress(took, arguments.get("seconds"))
                await asyncio.wait({work}, timeout=_NOTICE_S)
                took += _NOTICE_S
            found = await work
        except RltuiError as error:
            content = types.TextContent(type="text", text=str(error))
            return types.CallToolResult(content=[content], is_error=True)
        finally:
            work.cancel()
        content = types.TextContent(type="text", text=found.text)
        document = None if self._is_text else finite(found.facts)
        return types.CallToolResult(content=[content], structured_content=document)

    async def answer(self, name: str, arguments: Json) -> Answer:
        """The answer of a tool. Raises RltuiError."""
        if name not in self._known:
            raise UsageError(f"no tool {quoted(name)}; there are {', '.join(self._known)}")
        schema = self._known[name].input_schema
        wrong = next(Draft202012Validator(schema).iter_errors(arguments), None)
        if wrong is not None:
            where = "".join(f"{part}: " for part in wrong.path)
            takes = ", ".join(schema["properties"])
            raise UsageError(f"{where}{clean(wrong.message[:200])}; {name} takes {takes}")
        # JSON has one kind of numbers: 2.0 is an integer
        whole = {k: int(v) for k, v in arguments.items() if isinstance(v, float)}
        found: Answer = await getattr(self._tools, name)(**arguments | whole)
        return found

    async def resources(self, _: Any, __: Any) -> types.ListResourcesResult:
        """Two documents of each run."""
        names: list[str] = []
        with suppress(UsageError):  # no run yet
            names += await self._resources.names()
        found = [
            types.Resource(
                uri=f"rltui://{kind}/{quote(name, safe='')}",
                name=f"{kind} {name}",
                mime_type=form,
            )
            for name in names
            for kind, form in self._resources.types.items()
        ]
        return types.ListResourcesResult(resources=found)

    async def templates(self, _: Any, __: Any) -> types.ListResourceTemplatesResult:
        """The addresses of documents."""
        found = [
            types.ResourceTemplate(uri_template=f"rltui://{kind}/{{name}}", name=kind, mime_type=x)
            for kind, x in self._resources.types.items()
        ]
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read(self, _: Any, asked: Any) -> types.ReadResourceResult:
        """The text of a document."""
        uri = str(asked.uri)
        try:
            form, text = await self._resources.read(uri)
        except RltuiError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        content = types.TextResourceContents(uri=uri, mime_type=form, text=text)
        return types.ReadResourceResult(contents=[content])


def server_of(tools: object, resources: Any, *, text: bool = False) -> Server[Any]:
    """The tools and documents as a server of the SDK; ``text``: that answers with texts alone."""
    protocol = Protocol(tools, resources, text=text)
    return Server(
        "rltui",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=protocol.tools,
        on_call_tool=protocol.call,
        on_list_resources=protocol.resources,
        on_list_resource_templates=protocol.templates,
        on_read_resource=protocol.read,
    )
