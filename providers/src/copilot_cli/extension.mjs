// AxiOwl's door into a Copilot CLI session that somebody has open.
//
// Copilot CLI starts this file with every session, and it joins that session: what comes in over
// the socket is shown in the session's window like a prompt of its user, and waits there while a
// turn runs. The socket lies in AxiOwl's state folder, which only its user may enter; a request
// has to name the very session it is for. Nothing is read out of the session, and neither tools
// nor hooks are registered.
import { joinSession } from "@github/copilot-sdk/extension";
import { chmodSync, mkdirSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Characters of one request. */
const LARGEST = 8 * 1024 * 1024;

/** AxiOwl's state folder, where it was installed with another one than its own. */
const named = null;

const session = await joinSession({});
const state = process.env.XDG_STATE_HOME;
const usual = state && isAbsolute(state) ? join(state, "axiowl") : join(homedir(), ".axiowl");
const root = named ?? usual;
const folder = join(root, "copilot-cli");
mkdirSync(folder, { recursive: true, mode: 0o700 });
const socket = join(folder, `${session.sessionId}.sock`);

/** Answers one request; a refusal is an answer too. */
async function answer(line) {
  const request = JSON.parse(line);
  if (request.session !== session.sessionId) {
    return { error: `this is the session ${session.sessionId}` };
  }
  if (typeof request.text !== "string") {
    return { session: session.sessionId };
  }
  const messageId = await session.send({ prompt: request.text, mode: "enqueue" });
  return { session: session.sessionId, messageId };
}

const server = createServer({ allowHalfOpen: true }, (connection) => {
  let got = "";
  let answered = false;
  connection.setEncoding("utf8");
  connection.on("error", () => connection.destroy());
  connection.on("data", async (piece) => {
    got += piece;
    const end = got.indexOf("\n");
    if (answered || (end < 0 && got.length <= LARGEST)) return;
    answered = true;
    let said;
    try {
      said = end < 0 ? { error: "the request is too large" } : await answer(got.slice(0, end));
    } catch (error) {
      said = { error: String(error) };
    }
    connection.end(`${JSON.stringify(said)}\n`);
  });
});

let own;
// One that a killed process left stands in the way of a new one.
rmSync(socket, { force: true });
server.listen(socket, () => {
  chmodSync(socket, 0o600);
  own = statSync(socket).ino;
});
process.on("exit", () => {
  try {
    // Another window on the same session may have put its own there meanwhile.
    if (statSync(socket).ino === own) rmSync(socket);
  } catch {
    // It is gone already.
  }
});
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => process.exit(0));
