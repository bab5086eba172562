// SPDX-License-Identifier: GPL-2.0-only
/**
 * @file What operations of Python do, for what translate.py has translated: lists, tuples and arrays
 * of numbers are arrays here, dictionaries are objects, and None is null or undefined.
 */

class Keywords {
  /** @param {any} given */
  constructor(given) {
    Object.assign(this, given);
  }
}

/** @param {any} it */
const isList = (it) => Array.isArray(it);

/** Apply an operation to numbers, or to each one of arrays. @param {(a: any, b: any) => any} of */
const elementwise = (of) => (/** @type {any} */ a, /** @type {any} */ b) => {
  if (!isList(a) && !isList(b)) return of(a, b);
  const [one, other] = [a, b].map((it) => (isList(it) ? (/** @type {number} */ i) => it[i] : () => it));
  return Array.from({ length: (isList(a) ? a : b).length }, (_, i) => of(one(i), other(i)));
};

/** Whether `a` comes before `b`: tuples by their first difference. @param {any} a @param {any} b @returns {boolean} */
function isLess(a, b) {
  if (!isList(a)) return a < b;
  const place = a.findIndex((/** @type {any} */ it, /** @type {number} */ i) => it !== b[i]);
  return place >= 0 && isLess(a[place], b[place]);
}

/** @param {any[]} given @returns {[any[], any]} */
function apart(given) {
  const last = given.at(-1);
  return last instanceof Keywords ? [given.slice(0, -1), last] : [given, {}];
}

/** @param {(a: any, b: any) => boolean} isBetter */
const best = (isBetter) => (/** @type {any[]} */ ...given) => {
  const [values, { key = (/** @type {any} */ it) => it, default: none, default_ = none }] = apart(given);
  const all = values.length > 1 ? values : [...py.each(values[0])];
  return all.length ? all.reduce((a, b) => (isBetter(key(b), key(a)) ? b : a)) : default_;
};

/** @type {Record<string, (it: any, ...given: any[]) => any>} */
const METHODS = {
  all: (it) => it.every(py.true),
  join: (it, all) => [...all].join(it),
  append: (it, one) => it.push(one),
  any: (it) => it.some(py.true),
  sum: (it) => py.sum(it),
  index: (it, of) => it.indexOf(of),
  removeprefix: (it, of) => (it.startsWith(of) ? it.slice(of.length) : it),
  startswith: (it, of) => it.startsWith(of),
  partition(it, of) {
    const place = it.indexOf(of);
    return place < 0 ? [it, "", ""] : [it.slice(0, place), of, it.slice(place + of.length)];
  },
  items: (it) => Object.entries(it),
  keys: (it) => Object.keys(it),
  values: (it) => Object.values(it),
  get: (it, key, none) => it[key] ?? none ?? null,
  setdefault: (it, key, none) => (it[key] ??= none),
  pop(it, key) {
    const value = it[key];
    delete it[key];
    return value;
  },
  reverse: (it) => it.reverse(),
  count: (it, of) => it.filter((/** @type {any} */ one) => one === of).length,
};

export const py = {
  inf: Infinity,
  backwards: { backwards: true },
  slice: (/** @type {any} */ from, /** @type {any} */ to) => ({ from: from ?? 0, to: to ?? undefined }),
  /** @param {any} given */
  keywords: (given) => new Keywords(given),

  /** @param {any} it @returns {boolean} */
  true(it) {
    if (it == null) return false;
    if (isList(it)) return it.length > 0;
    return typeof it === "object" ? Object.getPrototypeOf(it) !== Object.prototype || Object.keys(it).length > 0 : Boolean(it);
  },
  /** @param {(() => any)[]} parts */
  both(...parts) {
    let value;
    for (const part of parts) if (!py.true((value = part()))) break;
    return value;
  },
  /** @param {(() => any)[]} parts */
  either(...parts) {
    let value;
    for (const part of parts) if (py.true((value = part()))) break;
    return value;
  },
  lt: elementwise(isLess),
  gt: elementwise((a, b) => isLess(b, a)),
  le: elementwise((a, b) => a <= b),
  ge: elementwise((a, b) => a >= b),
  eq: elementwise((a, b) => a === b),
  ne: elementwise((a, b) => a !== b),
  /** @param {any} it @param {any} all */
  in_(it, all) {
    if (!isList(all) && typeof all === "object") return Object.hasOwn(all, it);
    return all.includes(it);
  },
  /** @param {any} it @param {any} all */
  notIn: (it, all) => !py.in_(it, all),
  add: elementwise((a, b) => a + b),
  sub: elementwise((a, b) => a - b),
  mul: elementwise((a, b) => a * b),
  div: elementwise((a, b) => a / b),
  pow: (/** @type {number} */ a, /** @type {number} */ b) => a ** b,
  and: elementwise((a, b) => a && b),
  /** @param {any} a @param {any} b */
  or: (a, b) => (isList(a) ? a.map((it, i) => it || b[i]) : { ...a, ...b }),
  /** @param {boolean[]} it */
  not: (it) => it.map((one) => !one),

  /** @param {any} it @param {any} place */
  at(it, place) {
    if (isList(place)) return it.filter((/** @type {any} */ _, /** @type {number} */ i) => place[i]);
    if (place === py.backwards) return [...it].reverse();
    if (place !== null && typeof place === "object") return it.slice(place.from, place.to);
    const value = isList(it) ? it.at(Number(place)) : it[place];
    if (value === undefined) throw new RangeError(`there is no ${place}`);
    return value;
  },
  /** @param {any} owner @param {string} name @param {any[]} given */
  call(owner, name, ...given) {
    const own = !isList(owner) && typeof owner === "object" ? owner[name] : undefined;
    return own ? own.apply(owner, given) : METHODS[name](owner, ...given);
  },
  /** @param {any} it @returns {Iterable<any>} */
  each: (it) => (isList(it) || it?.[Symbol.iterator] ? it : Object.keys(it)),
  /** @param {() => Generator<any>} of */
  lazy: (of) => of(),
  /** @param {any} owner @param {string} name @param {() => any} of */
  once(owner, name, of) {
    const value = of();
    Object.defineProperty(owner, name, { value });
    return value;
  },
  /**
   * @param {any[]} given @param {any} shape of a function's parameters
   * @param {Record<string, () => any>} defaults
   */
  bind(given, shape, defaults) {
    const [values, keywords] = apart(given);
    /** @type {Record<string, any>} */ const bound = {};
    const left = { ...keywords };
    for (const [i, name] of [...shape.names, ...shape.only].entries()) {
      if (i < shape.names.length && i < values.length) bound[name] = values[i];
      else bound[name] = name in left ? left[name] : defaults[name]?.();
      delete left[name];
    }
    if (shape.rest) bound[shape.rest] = values.slice(shape.names.length);
    if (shape.keywords) bound[shape.keywords] = left;
    return bound;
  },
  /** @param {string[]} names @param {any} defaults */
  record(names, defaults) {
    const kind = names.join();
    return Object.assign((/** @type {any[]} */ ...given) => {
      const [values, keywords] = apart(given);
      return { kind, ...defaults, ...keywords, ...Object.fromEntries(values.map((it, i) => [names[i], it])) };
    }, { kind });
  },

  // Functions of Python's own.
  any: (/** @type {any} */ it) => [...it].some(py.true),
  bool: (/** @type {any} */ it) => py.true(it),
  dict: Object.assign((/** @type {any} */ it = []) => (Symbol.iterator in Object(it) ? Object.fromEntries(it) : { ...it }), {
    /** @param {any} it */
    fromkeys: (it, value = null) => Object.fromEntries([...it].map((key) => [key, value])),
  }),
  enumerate: (/** @type {any} */ it) => [...py.each(it)].map((one, i) => [i, one]),
  *filter(/** @type {any} */ _, /** @type {any} */ all) {
    for (const it of all) if (py.true(it)) yield it;
  },
  float: Number,
  frozenset: (/** @type {any} */ it = []) => [...it],
  /** @param {any} it @param {string} name @param {any} none */
  getattr: (it, name, none) => it?.[name] ?? none ?? null,
  int: Math.trunc,
  /** @param {any} it @param {any} kinds */
  isinstance: (it, kinds) => [kinds].flat().some((kind) => (kind === py.float || kind === py.int ? typeof it === "number" : it?.kind === kind.kind)),
  len: (/** @type {any} */ it) => [...py.each(it)].length,
  list: (/** @type {any} */ it) => [...py.each(it)],
  map: (/** @type {any} */ of, /** @type {any} */ all) => [...py.each(all)].map((it) => of(it)),
  max: best((a, b) => isLess(b, a)),
  min: best(isLess),
  /** @param {any} it @param {any} none */
  next(it, none) {
    const { value, done } = it.next();
    return done ? none : value;
  },
  range: (/** @type {number} */ a, /** @type {number | undefined} */ b, c = 1) => {
    const [from, to] = b === undefined ? [0, a] : [a, b];
    return Array.from({ length: Math.max(0, Math.ceil((to - from) / c)) }, (_, i) => from + c * i);
  },
  reversed: (/** @type {any} */ it) => [...py.each(it)].reverse(),
  round: Math.round,
  str: String,
  sum: (/** @type {Iterable<any>} */ it) => [...it].reduce((total, one) => total + Number(one), 0),
  tuple: (/** @type {any} */ it) => [...py.each(it)],
  set: (/** @type {any} */ it) => [...py.each(it)],
  zip(/** @type {any[]} */ ...given) {
    const [lists] = apart(given);
    const all = lists.map((it) => [...py.each(it)]);
    const length = Math.min(...all.map((it) => it.length));
    return Array.from({ length }, (_, i) => all.map((it) => it[i]));
  },
};
