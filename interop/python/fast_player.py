"""A player of Even/Odd built with FastMCP, of the current line or of 2.x.

It serves four tools over HTTP and registers with the manager by a plain JSON-RPC call. The modes
of its server are those that decide what an MCP client has to cope with: events or JSON, with
sessions or without. As a bot it serves the same tools over standard input and output, and leaves
registering to `league player --exec`.

    python fast_player.py --manager URL --port N --name NAME [--json] [--stateless] [--speech mcp]
    python fast_player.py --stdio
"""

import argparse
import json
import random
import socket
import threading
import time
import urllib.request

from fastmcp import FastMCP

server = FastMCP("player")


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def said(kind, conversation, **fields):
    """A message of the league without a sender's id: the referee knows which player it asked."""
    return {
        "protocol": "league.v2",
        "message_type": kind,
        "sender": "player:UNREGISTERED",
        "timestamp": now(),
        "conversation_id": conversation,
        **fields,
    }


@server.tool
def handle_game_invitation(match_id: str, conversation_id: str) -> dict:
    """Takes named fields and answers with an object."""
    return said(
        "GAME_JOIN_ACK",
        conversation_id,
        match_id=match_id,
        arrival_timestamp=now(),
        accept=True,
    )


@server.tool
def choose_parity(message: dict) -> str:
    """Takes the whole message and answers with JSON in a text."""
    answer = said(
        "CHOOSE_PARITY_RESPONSE",
        message["conversation_id"],
        match_id=message["match_id"],
        player_id=message["player_id"],
        parity_choice=random.choice(["even", "odd"]),
    )
    answer["sender"] = f"player:{message['player_id']}"
    return json.dumps(answer)


@server.tool
def notify_match_result(match_id: str, game_result: dict | None = None) -> str:
    """Answers with text that is not JSON."""
    return f"noted {match_id}"


@server.tool
def update_standings(round_id: int) -> None:
    """Answers with nothing."""


def register(manager, endpoint, name, speech):
    """Registers once the manager answers."""
    meta = {
        "display_name": name,
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": endpoint,
    }
    if speech:
        meta["speech"] = speech
    params = said("LEAGUE_REGISTER_REQUEST", f"conv-{name}-reg", player_meta=meta)
    params["sender"] = f"player:{name}"
    body = {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": params}
    request = urllib.request.Request(
        manager, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        result = json.load(answer)["result"]
    print(json.dumps({"event": "registered", "player_id": result.get("player_id")}), flush=True)


def register_when_open(arguments, endpoint):
    """Registers after our own port is open, so that early calls succeed."""
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", arguments.port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.1)
    register(arguments.manager, endpoint, arguments.name, arguments.speech)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stdio", action="store_true")
    parser.add_argument("--manager")
    parser.add_argument("--port", type=int)
    parser.add_argument("--name")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--stateless", action="store_true")
    parser.add_argument("--speech")
    arguments = parser.parse_args()
    if arguments.stdio:
        server.run(transport="stdio", show_banner=False)
        return
    endpoint = f"http://127.0.0.1:{arguments.port}/mcp"
    opening = threading.Thread(target=register_when_open, args=(arguments, endpoint), daemon=True)
    opening.start()
    server.run(
        transport="http",
        host="127.0.0.1",
        port=arguments.port,
        json_response=arguments.json,
        stateless_http=arguments.stateless,
        show_banner=False,
        uvicorn_config={"log_level": "error"},
    )


if __name__ == "__main__":
    main()
