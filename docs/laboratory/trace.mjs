// SPDX-License-Identifier: GPL-2.0-only
/**
 * @file Packets of a run, from its capture (models/wasm/trace.cc): what entered the link and what
 * became of it, when it arrived, and what went into a tunnel and came out.
 */

import { numberOf, specification } from "./experiment.mjs";

/**
 * @typedef {Object} Seen A packet at a place.
 * @property {number} time s
 * @property {string} place `path`, or a host, with its interface: `client`, `client lo`, `client tun`
 * @property {boolean} isOut of a host; into a link from its client
 * @property {number} bytes of IP
 * @property {string} fate dropped, lost, policed, marked; "": it passed
 * @property {number} protocol of IP
 * @property {number} from port
 * @property {number} to port
 * @property {number} payload bytes of it
 * @property {number} sequence of TCP
 *
 * @typedef {Map<string, number>} Early Packets that were seen before the trace, by what connectionAt() says of them.
 */

/** A connection at a place in a direction. @param {{place: string, isOut: boolean, protocol: number, from: number, to: number}} it */
const connectionAt = (it) => `${it.place} ${it.isOut} ${it.protocol} ${it.from} ${it.to}`;

/**
 * Read a capture: pcapng with one section, and packets that begin with IPv4.
 * @param {Uint8Array} file
 * @param {string} early as of engine.mjs
 * @returns {{seen: Seen[], early: Early}} in order of time
 */
export function readCapture(file, early) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const text = (/** @type {number} */ at, /** @type {number} */ size) => new TextDecoder().decode(file.subarray(at, at + size));
  /** @type {string[]} */ const places = [];
  /** @type {Seen[]} */ const found = [];
  for (let at = 0; at < file.length; at += view.getUint32(at + 4, true)) {
    const [kind, end] = [view.getUint32(at, true), at + view.getUint32(at + 4, true) - 4];
    const options = (/** @type {number} */ from) => {
      /** @type {Map<number, [number, number]>} */ const known = new Map();
      for (let it = from; it < end; ) {
        const [code, size] = [view.getUint16(it, true), view.getUint16(it + 2, true)];
        if (code === 0) break;
        known.set(code, [it + 4, size]);
        it += 4 + Math.ceil(size / 4) * 4;
      }
      return known;
    };
    if (kind === 1) {
      const name = options(at + 16).get(2);
      places.push(name ? text(...name) : "");
    } else if (kind === 6) {
      const captured = view.getUint32(at + 20, true);
      const told = options(at + 28 + Math.ceil(captured / 4) * 4);
      const flags = told.get(2);
      const comment = told.get(1);
      found.push({
        time: (view.getUint32(at + 12, true) * 2 ** 32 + view.getUint32(at + 16, true)) / 1e9,
        place: places[view.getUint32(at + 8, true)],
        isOut: flags ? (view.getUint32(flags[0], true) & 3) === 2 : false,
        fate: comment ? text(...comment) : "",
        ...readPacket(view, at + 28, captured, view.getUint32(at + 24, true)),
      });
    }
  }
  return {
    seen: found,
    early: new Map(early.split("\n").filter(Boolean).map((line) => {
      const [place, direction, protocol, from, to, count] = line.split(" ").map(Number);
      return [connectionAt({ place: places[place], isOut: direction === 2, protocol, from, to }), count];
    })),
  };
}

/** @param {DataView} view @param {number} at @param {number} captured @param {number} bytes */
function readPacket(view, at, captured, bytes) {
  const protocol = view.getUint8(at + 9);
  const header = 4 * (view.getUint8(at) & 15);
  const transport = at + header;
  const isFirst = (view.getUint16(at + 6) & 0x1fff) === 0; // of a datagram's fragments
  const hasPorts = (protocol === 6 || protocol === 17) && isFirst && captured >= header + 4;
  const [from, to] = hasPorts ? [view.getUint16(transport), view.getUint16(transport + 2)] : [0, 0];
  const sequence = protocol === 6 && captured >= header + 20 ? view.getUint32(transport + 4) : 0;
  const payload = bytes - header - (protocol === 6 ? 4 * (view.getUint8(transport + 12) >> 4) : 8);
  return { bytes, protocol, from, to, sequence, payload };
}

/**
 * @typedef {Object} Life What became of a packet on the link.
 * @property {number} begin when it came to the link's queue, s
 * @property {number} leaves when it left the queue; of one that was dropped: begin
 * @property {number} end when it arrived, or was lost
 * @property {boolean} isForward from the client to the server
 * @property {string} kind of flows: first, other or beside
 * @property {boolean} isTunnel an outer packet
 * @property {number} bytes of IP
 * @property {boolean} isData and not an acknowledgement alone
 * @property {boolean} isResent of TCP: its bytes were sent before
 * @property {string} fate as of Seen
 *
 * @typedef {{time: number, isIn: boolean, bytes: number, isData: boolean}} Inner A packet that goes into a tunnel at the
 *   sender, or comes out of it at the receiver (`isIn`: false), in the direction of the data
 */

/** The first port of a client, and that of servers without a tunnel (models/wire/capture.cc). */
const [FIRST_PORT, SERVER_PORT] = [32768, 5201];
const TCP = 6;

/**
 * What a trace of an experiment needs.
 * @param {import("./experiment.mjs").Data} data
 * @param {import("./experiment.mjs").Choices} choices
 */
export function traceOf(data, choices) {
  const made = specification(data, choices);
  const counts = ["flows", "other_flows"].map((key) => numberOf(data, choices, key));
  const delays = ["forward", "reverse"].map((it) => made.links[0][it].delay / 1e9);
  const later = (counts[1] > 0 ? made.flows[counts[0]].extra_delay.server : 0) / 1e9;
  return {
    specification: made,
    capture: data.templates[choices.tunnel].capture,
    of: { hasTunnel: choices.tunnel !== "none", counts, delays, later },
  };
}

/**
 * Put together what was seen of each packet. Packets of a connection arrive in the order in which they came to the
 * link: no path of the laboratory changes that.
 * @param {{seen: Seen[], early: Early}} trace
 * @param {{
 *   hasTunnel: boolean, counts: number[], delays: number[], later: number,
 * }} of `counts`: flows of both kinds; `delays`: s, of the link in both directions; `later`: s, by which packets of the
 *   other flows arrive later than the link delivers them
 * @returns {{lives: Life[], inner: Inner[]}} in order of time
 */
export function livesOf({ seen, early }, { hasTunnel, counts, delays, later }) {
  /** Those that have not arrived, by connection. @type {Map<string, Life[]>} */ const open = new Map();
  /** How many are to arrive that came before the trace. @type {Map<string, number>} */ const before = new Map();
  for (const [at, count] of early) {
    const [, place, isOut, connection] = /** @type {RegExpExecArray} */ (/^(.*) (true|false) (.*)$/.exec(at));
    const isArrival = isOut === "false" && (place === "server" || place === "client");
    if (place !== "path" && !isArrival) continue;
    const key = `${place === "path" ? isOut === "true" : place === "server"} ${connection}`;
    before.set(key, (before.get(key) ?? 0) + (place === "path" ? count : -count));
  }
  /** @type {Map<number, number>} */ const sent = new Map();
  /** @type {Life[]} */ const lives = [];
  /** @type {Inner[]} */ const inner = [];
  for (const it of seen) {
    if (it.place === "path") {
      const isForward = it.isOut;
      const [client, server] = isForward ? [it.from, it.to] : [it.to, it.from];
      const isTunnel = hasTunnel && server !== SERVER_PORT;
      let kind = isTunnel ? "first" : it.protocol === TCP && (hasTunnel || client - FIRST_PORT >= counts[0]) ? "other" : "first";
      if (!isTunnel && it.protocol !== TCP) kind = "beside";
      const isTcpData = it.protocol === TCP && it.payload > 0;
      const most = sent.get(client) ?? it.sequence;
      // Sequence numbers are of 32 bits, and go on from 0.
      const isResent = isForward && isTcpData && ((it.sequence - most) | 0) < 0;
      if (isForward && isTcpData && !isResent) sent.set(client, (it.sequence + it.payload) >>> 0);
      const isGone = /drop|lost/.test(it.fate);
      const life = {
        begin: it.time, leaves: isGone ? it.time : Infinity, end: isGone ? it.time : Infinity, isForward, kind, isTunnel, bytes: it.bytes,
        isData: it.protocol === TCP ? it.payload > 0 : it.bytes > 200 || kind === "beside", isResent, fate: it.fate,
      };
      lives.push(life);
      if (!isGone) {
        const key = `${isForward} ${it.protocol} ${it.from} ${it.to}`;
        const known = open.get(key);
        if (known) known.push(life);
        else open.set(key, [life]);
      }
    } else if (!it.isOut && (it.place === "server" || it.place === "client")) {
      const key = `${it.place === "server"} ${it.protocol} ${it.from} ${it.to}`;
      const earlier = before.get(key) ?? 0;
      if (earlier > 0) {
        before.set(key, earlier - 1);
        continue;
      }
      const life = open.get(key)?.shift();
      if (!life) continue; // what only a host sends to itself
      life.end = it.time;
      const own = life.isForward ? delays[0] + (life.kind === "other" ? later : 0) : delays[1];
      life.leaves = Math.max(life.begin, it.time - own);
    } else if (it.place.startsWith("client ") && it.isOut && it.to !== FIRST_PORT) {
      if (it.payload > 0 && it.from >= FIRST_PORT) inner.push({ time: it.time, isIn: true, bytes: it.bytes, isData: true });
    } else if (it.place === "server tun" ? !it.isOut : it.place === "server lo" && it.isOut) {
      if (it.payload > 0 && it.to === SERVER_PORT) inner.push({ time: it.time, isIn: false, bytes: it.bytes, isData: true });
    }
  }
  settle(lives);
  return { lives, inner };
}

/**
 * What is lost at random is so behind the queue: it leaves when the one before it does. What has not arrived at the
 * end of the trace stays where it is.
 * @param {Life[]} lives
 */
function settle(lives) {
  let leaves = 0;
  for (const it of lives) {
    if (!it.isForward) continue;
    if (it.fate.startsWith("lost")) it.leaves = it.end = Math.max(it.begin, leaves);
    else if (Number.isFinite(it.leaves)) leaves = it.leaves;
  }
}
