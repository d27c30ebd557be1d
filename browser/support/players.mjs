// Players with names of our choice, all on one little server. They come, they play fairly, every
// other one says `odd`, and whatever else they may say they fill with what a page should never run.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

/** What each player says of its version, and beside every answer. */
export const SPITE = '</script><script>__pwned="said"</script><img src=x onerror=alert(1)>';

/**
 * Starts the server of all players; it is closed with `close`.
 *
 * @param thinks is awaited with the id of the match before a player tells its choice
 */
export async function players(thinks = async () => {}) {
  const answer = async (request, response) => {
    const called = await json(request);
    const asked = called.params ?? {};
    if (asked.message_type === 'CHOOSE_PARITY_CALL') await thinks(asked.match_id);
    const result = fair(asked, Number(request.url.split('/')[1]));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id: called.id, result }));
  };
  // A caller that went away, or a page that was closed while a player thought, is not a failure.
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = (index) => `http://localhost:${server.address().port}/${index}/mcp`;
  return {
    /** Registers a player for each name at the manager, in this order. */
    async register(manager, names) {
      for (const [index, name] of names.entries()) await register(manager, name, endpoint(index));
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Starts a manager on a free port, and has players of these names register there. */
export async function managed(stage, { names, words, thinks }) {
  const root = stage.folder();
  const manager = stage.start('manager', '--port', '0', '--root', root, ...words);
  const [endpoint] = await manager.says(/http:\/\/\S+\/mcp/);
  const crowd = await players(thinks);
  stage.afterwards(() => crowd.close());
  await crowd.register(endpoint, names);
  return { root, endpoint, site: endpoint.replace(/mcp$/, '') };
}

async function register(manager, name, endpoint) {
  const meta = {
    display_name: name,
    version: SPITE,
    protocol_version: '2.1.0',
    game_types: ['even_odd'],
    contact_endpoint: endpoint,
  };
  const message = said('LEAGUE_REGISTER_REQUEST', 'player:UNKNOWN', { player_meta: meta });
  const call = { jsonrpc: '2.0', id: 1, method: 'register_player', params: message };
  const response = await fetch(manager, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
  });
  const answer = await response.json();
  if (answer.result?.status !== 'ACCEPTED') {
    throw new Error(`${name} was not admitted: ${JSON.stringify(answer)}`);
  }
}

/** What the player of this number answers. */
function fair(asked, index) {
  const { match_id, player_id, message_type } = asked;
  const sender = `player:${player_id ?? 'UNREGISTERED'}`;
  if (message_type === 'GAME_INVITATION') {
    const arrival_timestamp = now();
    return said('GAME_JOIN_ACK', sender, { match_id, arrival_timestamp, accept: true });
  }
  if (message_type === 'CHOOSE_PARITY_CALL') {
    const parity_choice = index % 2 === 0 ? 'even' : 'odd';
    return said('CHOOSE_PARITY_RESPONSE', sender, { match_id, player_id, parity_choice });
  }
  return { status: 'ok' };
}

function said(message_type, sender, rest) {
  const conversation_id = `c-${sender}`.slice(0, 60);
  const envelope = { protocol: 'league.v2', message_type, sender, timestamp: now() };
  return { ...envelope, conversation_id, remark: SPITE, ...rest };
}

function now() {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}
