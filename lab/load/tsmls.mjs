// The bench of ts-mls: a peer of `tacet-lab load mls`. One JSON object a line comes
// in on stdin, one goes out for each on stdout; bytes are base64. A turn does the
// same thing a number of times and says how long each took, in nanoseconds, and
// what CPU the whole process used, in microseconds.
//
//   node --expose-gc tsmls.mjs DIRECTORY    DIRECTORY/node_modules has ts-mls
import { createRequire } from "node:module"
import { join } from "node:path"
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { pathToFileURL } from "node:url"

const at = createRequire(join(process.argv[2], "x.js")).resolve("ts-mls")
const mls = await import(pathToFileURL(at).href)

let cs
const config = {
  keyRetentionConfig: mls.defaultKeyRetentionConfig,
  lifetimeConfig: mls.defaultLifetimeConfig,
  keyPackageEqualityConfig: mls.defaultKeyPackageEqualityConfig,
  authService: mls.defaultAuthenticationService,
  paddingConfig: { kind: "alwaysPad", paddingLength: 0 }, // nobody pads
}
const members = {} // name → state
let waiting = [] // what "from" sent and "to" has not opened

const b64 = b => Buffer.from(b).toString("base64")
const bytes = s => new Uint8Array(Buffer.from(s, "base64"))
const version = "mls10"
const decode = b => mls.decodeMlsMessage(b, 0)[0]
const wipe = l => l.forEach(mls.zeroOutUint8Array)

function capabilities() {
  const id = cs.name
  return { versions: [version], ciphersuites: [id], extensions: [], proposals: [], credentials: ["basic", "x509"] }
}

const lifetime = () => {
  const now = BigInt(Math.floor(Date.now() / 1000))
  return { notBefore: now - 3600n, notAfter: now + 2_000_000n }
}

// Names have the form that core-crypto wants.
let somebody = 0
async function keyPackage() {
  const name = `00000000-0000-4000-8000-000000000002:${(++somebody).toString(16)}@example.org`
  const credential = { credentialType: "basic", identity: new TextEncoder().encode(name) }
  return mls.generateKeyPackage(credential, capabilities(), lifetime(), [], cs)
}

// timed does f again and again for so many milliseconds, from least to most times.
// What earlier turns left is collected first; what this one makes is its own affair.
async function timed({ ms, least, most }, f) {
  globalThis.gc()
  const each = []
  const cpu = process.cpuUsage()
  const end = performance.now() + ms
  for (let i = 0; i < most && (i < least || performance.now() < end); i++) {
    const begun = process.hrtime.bigint()
    await f(i)
    each.push(Number(process.hrtime.bigint() - begun))
  }
  const used = process.cpuUsage(cpu)
  return { each, cpu: used.user + used.system }
}

// add commits to proposals of add, of key packages as they came, and makes the
// Welcome with the tree in it.
async function add(state, packages) {
  const extraProposals = packages.map(b => ({ proposalType: "add", add: { keyPackage: decode(b).keyPackage } }))
  const r = await mls.createCommit({ state, cipherSuite: cs }, { extraProposals, ratchetTreeExtension: true })
  const commit = mls.encodeMlsMessage(r.commit)
  const welcome = mls.encodeMlsMessage({ welcome: r.welcome, wireformat: "mls_welcome", version })
  return { state: r.newState, commit, welcome }
}

async function open(state, b) {
  const m = decode(b)
  if (m.wireformat === "mls_public_message") return mls.processPublicMessage(state, m.publicMessage, mls.emptyPskIndex, cs)
  return mls.processPrivateMessage(state, m.privateMessage, mls.emptyPskIndex, cs)
}

const turns = {
  // create: a group of all these, at once
  create: async o => {
    const all = o.packages.map(bytes)
    const own = await keyPackage()
    let made
    const t = await timed(o, async () => {
      const group = await mls.createGroup(cs.rng.randomBytes(32), own.publicPackage, own.privatePackage, [], cs, config)
      made = await add(group, all)
    })
    return { ...t, bytes: made.commit.length + made.welcome.length }
  },
  // add: one more, by "from", whose state stays as it was
  add: async o => {
    const all = o.packages.map(bytes)
    let made
    const t = await timed(o, async i => {
      made = await add(members[o.from], [all[i % all.length]])
    })
    return { ...t, bytes: made.commit.length + made.welcome.length }
  },
  // commit: new keys on the path of "from"
  commit: async o => {
    const t = await timed(o, async () => {
      const r = await mls.createCommit({ state: members[o.from], cipherSuite: cs })
      waiting.push(mls.encodeMlsMessage(r.commit))
      members[o.from] = r.newState
      wipe(r.consumed)
    })
    return { ...t, bytes: waiting[0].length }
  },
  encrypt: async o => {
    const content = bytes(o.content)
    const t = await timed(o, async () => {
      const r = await mls.createApplicationMessage(members[o.from], content, cs)
      waiting.push(mls.encodeMlsMessage({ privateMessage: r.privateMessage, wireformat: "mls_private_message", version }))
      members[o.from] = r.newState
      wipe(r.consumed)
    })
    return { ...t, bytes: waiting[0].length }
  },
  // open: all that waits, by "to": process and decrypt are both this
  open: async o => {
    let last
    const n = waiting.length
    const t = await timed({ ms: 0, least: n, most: n }, async i => {
      last = await open(members[o.to], waiting[i])
      members[o.to] = last.newState
      wipe(last.consumed)
    })
    waiting = []
    return { ...t, content: last.kind === "applicationMessage" ? b64(last.message) : undefined }
  },
}

const kept = {} // name → key package with its secrets

const doing = {
  hello: async ({ suite }) => {
    const name = Object.entries(mls.ciphersuites).find(([, id]) => id === suite)?.[0]
    if (!name) throw new Error(`ts-mls has no cipher suite ${suite}`)
    const impl = await mls.getCiphersuiteImpl(mls.getCiphersuiteFromName(name))
    // ExternalPub is a vector (RFC 9420, Section 12.4.3.2); the library takes all of it
    // for the key, of 32 bytes in the suites that are measured.
    const importPublicKey = k => impl.hpke.importPublicKey(k.length === 33 && k[0] === 32 ? k.slice(1) : k)
    cs = { ...impl, hpke: { ...impl.hpke, importPublicKey } }
    const { version } = JSON.parse(readFileSync(join(at, "../../../package.json")))
    return { about: `ts-mls ${version}, Node ${process.versions.node}` }
  },
  // found: a group of one
  found: async ({ name }) => {
    const p = await keyPackage()
    members[name] = await mls.createGroup(cs.rng.randomBytes(32), p.publicPackage, p.privatePackage, [], cs, config)
    return {}
  },
  // info: something to join by
  info: async ({ name }) => {
    const groupInfo = await mls.createGroupInfoWithExternalPubAndRatchetTree(members[name], [], cs)
    return { info: b64(mls.encodeMlsMessage({ groupInfo, wireformat: "mls_group_info", version })) }
  },
  // enter: join by an external commit
  enter: async ({ name, info }) => {
    const p = await keyPackage()
    const r = await mls.joinGroupExternal(decode(bytes(info)).groupInfo, p.publicPackage, p.privatePackage, false, cs, undefined, config)
    members[name] = r.newState
    return { commit: b64(mls.encodeMlsMessage({ publicMessage: r.publicMessage, wireformat: "mls_public_message", version })) }
  },
  package: async ({ name }) => {
    kept[name] = await keyPackage()
    return { package: b64(mls.encodeMlsMessage({ keyPackage: kept[name].publicPackage, wireformat: "mls_key_package", version })) }
  },
  // join: by a Welcome to that key package
  join: async ({ name, welcome }) => {
    const p = kept[name]
    members[name] = await mls.joinGroup(decode(bytes(welcome)).welcome, p.publicPackage, p.privatePackage, mls.emptyPskIndex, cs, undefined, undefined, config)
    delete kept[name]
    return {}
  },
  receive: async ({ name, commit }) => {
    members[name] = (await open(members[name], bytes(commit))).newState
    return {}
  },
  // agree: what is the same for all of an epoch, and for nobody else
  agree: async ({ name }) => ({ authenticator: b64(members[name].keySchedule.epochAuthenticator) }),
  forget: async ({ name }) => {
    delete members[name]
    return {}
  },
  turn: async o => turns[o.what](o),
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer
  try {
    const o = JSON.parse(line)
    answer = await doing[o.do](o)
  } catch (e) {
    answer = { error: String(e?.stack ?? e) }
  }
  process.stdout.write(JSON.stringify(answer) + "\n")
}
