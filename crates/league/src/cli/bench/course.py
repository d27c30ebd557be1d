"""A league in the manner of the course's document (000, chapters 5 and 8), for `league bench`.

FastAPI servers that take JSON-RPC, `requests.post` for every call, no logs, no files. A match has
the calls of the document: 8 of its own, and the share of its round, three to each player. A process
hosts the manager, a referee or some players; it speaks with the bench as the other floors do: it
reads a plan, prints where it listens, reads where all listen, and plays until its time is over.
"""

import json
import logging
import random
import socket
import sys
import threading
import time
from datetime import datetime, timezone

import requests
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()
book = {}
plan = {}
results = []


class MCPRequest(BaseModel):
    jsonrpc: str = "2.0"
    method: str
    params: dict = {}
    id: int = 1


def call_mcp_tool(address, method, params):
    payload = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
    response = requests.post(f"http://{address}/mcp", json=payload, timeout=30)
    return response.json()["result"]


def message(kind, sender, match_id, **fields):
    return {
        "protocol": "league.v2",
        "message_type": kind,
        "sender": sender,
        "timestamp": datetime.now(timezone.utc).isoformat(),
        "conversation_id": f"conv-{match_id}",
        "match_id": match_id,
        **fields,
    }


# The player of section 5.3.


def handle_game_invitation(params):
    player = params["player_id"]
    return message("GAME_JOIN_ACK", f"player:{player}", params["match_id"], accept=True)


def choose_parity(params):
    player = params["player_id"]
    choice = random.choice(["even", "odd"])
    return message(
        "CHOOSE_PARITY_RESPONSE", f"player:{player}", params["match_id"], parity_choice=choice
    )


def take_news(params):
    return {"status": "ok"}


# The referee of section 5.4.


def determine_winner(choice_a, choice_b, number):
    parity = "even" if number % 2 == 0 else "odd"
    a_correct = choice_a == parity
    b_correct = choice_b == parity
    if a_correct and not b_correct:
        return "PLAYER_A"
    if b_correct and not a_correct:
        return "PLAYER_B"
    return "DRAW"


def start_match(params):
    match_id, players = params["match_id"], params["players"]

    def ask(method, kind, **fields):
        return [
            call_mcp_tool(
                address,
                method,
                message(kind, "referee:REF01", match_id, player_id=player, **fields),
            )
            for player, address in players
        ]

    ask("handle_game_invitation", "GAME_INVITATION", game_type="even_odd")
    choices = ask("choose_parity", "CHOOSE_PARITY_CALL", game_type="even_odd")
    number = random.randint(1, 10)
    winner = determine_winner(*(choice["parity_choice"] for choice in choices), number)
    ask("notify_match_result", "GAME_OVER", drawn_number=number, winner=winner)
    report = message("MATCH_RESULT_REPORT", "referee:REF01", match_id, winner=winner)
    call_mcp_tool(book["manager"], "report_match_result", report)
    return {"status": "ok"}


# The manager of section 5.5.


def report_match_result(params):
    results.append(params["winner"])
    return {"status": "ok"}


def tell(players, method, kind, **fields):
    for _, address in players:
        call_mcp_tool(address, method, message(kind, "league_manager", "round", **fields))


def standings():
    return [
        {"rank": rank, "player_id": f"P{rank:02}", "display_name": f"Player {rank}"}
        | {"played": 7, "wins": 3, "draws": 2, "losses": 2, "points": 11}
        for rank in range(1, 2 * plan["at_once"] + 1)
    ]


def pairings():
    return [
        {"match_id": f"R1M{number}", "game_type": "even_odd"}
        | {"player_A_id": f"P{2 * number:02}", "player_B_id": f"P{2 * number + 1:02}"}
        for number in range(plan["at_once"])
    ]


TOOLS = {
    "handle_game_invitation": handle_game_invitation,
    "choose_parity": choose_parity,
    "notify_match_result": take_news,
    "notify_round": take_news,
    "update_standings": take_news,
    "notify_round_completed": take_news,
    "start_match": start_match,
    "report_match_result": report_match_result,
}


# Not `async`: a referee waits for its players, and other matches go on meanwhile.
@app.post("/mcp")
def mcp_endpoint(request: MCPRequest):
    return {"jsonrpc": "2.0", "result": TOOLS[request.method](request.params), "id": request.id}


def say(what):
    print(json.dumps(what), flush=True)


class Progress:
    """Counts matches; opens and closes the window, as the other floors do."""

    def __init__(self):
        self.lock = threading.Lock()
        self.done = 0
        self.opened = None
        self.ended = False
        self.micros = []

    def count(self, took):
        with self.lock:
            self.done += 1
            if self.done == plan["warm_up"]:
                say({"event": "warm"})
            if self.opened is None:
                return
            self.micros.append(int(took * 1e6))
            length, elapsed = plan["length"], time.monotonic() - self.opened
            is_over = len(self.micros) >= length["matches"] and elapsed >= length["seconds"]
            if is_over and not self.ended:
                self.ended = True
                micros = sorted(self.micros)
                p50, p99 = (micros[(len(micros) * part - 1) // 100] for part in (50, 99))
                times = {"p50": p50, "p99": p99}
                say({"event": "end", "window": len(micros), "matches": self.done, "micros": times})


def play(progress, slot):
    players = [(f"P{2 * slot + seat:02}", book["players"][2 * slot + seat]) for seat in (0, 1)]
    referee = book["referees"][slot % len(book["referees"])]
    number = slot
    while not progress.ended:
        tell(players, "notify_round", "ROUND_ANNOUNCEMENT", round_id=1, matches=pairings())
        began = time.monotonic()
        order = {"match_id": f"R1M{number}", "players": players}
        call_mcp_tool(referee, "start_match", order)
        took = time.monotonic() - began
        tell(players, "update_standings", "LEAGUE_STANDINGS_UPDATE", standings=standings())
        tell(players, "notify_round_completed", "ROUND_COMPLETED", round_id=1)
        progress.count(took)
        number += plan["at_once"]


def main():
    plan.update(json.loads(sys.stdin.readline()))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # Calls may come before the server is up.
    listener.listen(1024)
    address = "%s:%d" % listener.getsockname()
    say(
        {
            "manager": address if plan["manager"] else None,
            "referees": [address] * plan["referees"],
            "players": [address] * plan["players"],
        }
    )
    logging.disable(logging.WARNING)
    server = uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="error"))
    threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
    book.update(json.loads(sys.stdin.readline()))
    if plan["manager"]:
        progress = Progress()
        for slot in range(plan["at_once"]):
            threading.Thread(target=play, args=(progress, slot), daemon=True).start()
        # The bench has read its clocks.
        sys.stdin.readline()
        progress.opened = time.monotonic()
    sys.stdin.read()


main()
