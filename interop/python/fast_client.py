"""A FastMCP client of a manager: lists its tools and reads the standings.

    python fast_client.py --manager URL
"""

import argparse
import asyncio
import json

from fastmcp import Client


async def look(manager):
    async with Client(manager) as client:
        tools = sorted(tool.name for tool in await client.list_tools())
        assert "league_query" in tools, tools
        message = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_QUERY",
            "sender": "player:P01",
            "timestamp": "2025-01-15T10:00:00Z",
            "conversation_id": "conv-of-a-look",
            "query_type": "GET_STANDINGS",
        }
        result = await client.call_tool("league_query", message, raise_on_error=False)
        answer = result.structured_content or json.loads(result.content[0].text)
        # Without a token the manager refuses, in a message of the league.
        assert answer["message_type"] in ("LEAGUE_ERROR", "LEAGUE_QUERY_RESPONSE"), answer
    print(json.dumps({"event": "looked", "tools": tools, "answer": answer["message_type"]}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--manager", required=True)
    asyncio.run(look(parser.parse_args().manager))


if __name__ == "__main__":
    main()
