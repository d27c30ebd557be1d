"""A player of Even/Odd with only the standard library; it behaves like the sample of 000.

It answers with bare messages, without the frame of JSON-RPC; it wants the `id` to be an integer;
and it reports what it does not know with status 200.

    python bare_player.py --manager URL --port N --name NAME
"""

import argparse
import json
import random
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def joins(params):
    return {
        "message_type": "GAME_JOIN_ACK",
        "match_id": params["match_id"],
        "arrival_timestamp": now(),
        "accept": True,
    }


def chooses(params):
    return {
        "message_type": "CHOOSE_PARITY_RESPONSE",
        "match_id": params["match_id"],
        "player_id": params["player_id"],
        "parity_choice": random.choice(["even", "odd"]),
    }


TOOLS = {
    "handle_game_invitation": joins,
    "choose_parity": chooses,
    "notify_match_result": lambda params: {"status": "ok"},
}


class Player(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        call = json.loads(self.rfile.read(length))
        if not isinstance(call.get("id", 1), int):
            return self.send(422, {"detail": "value is not a valid integer"})
        tool = TOOLS.get(call.get("method"))
        if tool is None:
            return self.send(200, {"error": "Unknown method"})
        return self.send(200, tool(call.get("params", {})))

    def send(self, status, answer):
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing."""


def register(manager, endpoint, name):
    meta = {
        "display_name": name,
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": endpoint,
    }
    params = {"message_type": "LEAGUE_REGISTER_REQUEST", "player_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": params}
    request = urllib.request.Request(
        manager, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        result = json.load(answer)["result"]
    print(json.dumps({"event": "registered", "player_id": result.get("player_id")}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--manager", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--name", required=True)
    arguments = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Player)
    endpoint = f"http://127.0.0.1:{arguments.port}/mcp"
    registering = (arguments.manager, endpoint, arguments.name)
    threading.Thread(target=register, args=registering, daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
