// Groups: one member's state of one group under each name.

import {
  branchGroup, createApplicationMessage, createCommit, createGroup, createGroupInfoWithExternalPub,
  createGroupInfoWithExternalPubAndRatchetTree, createProposal, decodeGroupState, encodeGroupState, joinGroup,
  joinGroupExternal, mlsExporter, processPrivateMessage, processPublicMessage, reinitCreateNewGroup,
} from "ts-mls";
import { getOwnLeafNode, processProposal } from "ts-mls/clientState.js";
import { makeKeyPackageRef } from "ts-mls/keyPackage.js";
import { signLeafNodeCommit } from "ts-mls/leafNode.js";
import { unprotectPublicMessage } from "ts-mls/messageProtectionPublic.js";
import { decodeRatchetTree, encodeRatchetTree } from "ts-mls/ratchetTree.js";
import { decodeVarLenData, varLenDataEncoder } from "ts-mls/codec/variableLength.js";
import { encode } from "ts-mls/codec/tlsEncoder.js";
import { config, externalSender, find as findClient, freshKeyPackage, pskIndex } from "./client.mjs";
import { b64, bytes, extensions, message, packed, plainExtensions, proposal, whole } from "./wire.mjs";
import { name, provider } from "./suite.mjs";

const groups = new Map();

function find(id) {
  const g = groups.get(id);
  if (g === undefined) throw new Error(`no group ${id}`);
  return g;
}

// keep puts a state under a name. `updates` are leaves that the member has proposed
// in this epoch, with their private keys; `pending` is what a commit of its own
// would lead to.
function keep(id, client, cs, state) {
  drop(id);
  const g = { client, cs, state: { ...state, clientConfig: config }, updates: [], pending: undefined };
  groups.set(id, g);
  client.groups.add(g);
  return view(g);
}

function drop(id) {
  groups.get(id)?.client.groups.delete(groups.get(id));
  groups.delete(id);
}

// advance takes a state of another epoch.
function advance(g, state) {
  g.state = state;
  g.updates = [];
  g.pending = undefined;
}

// view is what all members must agree about, and who this one is.
function view(g) {
  const { groupContext: c, keySchedule, privatePath, ratchetTree, groupActiveState } = g.state;
  return {
    group: b64(c.groupId),
    epoch: Number(c.epoch),
    authenticator: b64(keySchedule.epochAuthenticator),
    treeHash: b64(c.treeHash),
    transcript: b64(c.confirmedTranscriptHash),
    extensions: plainExtensions(c.extensions),
    leaf: privatePath.leafIndex,
    members: ratchetTree.flatMap((n, i) => (n?.nodeType === "leaf" ? [i / 2] : [])),
    proposals: Object.keys(g.state.unappliedProposals).length,
    state: groupActiveState.kind,
  };
}

const randomOf = (g) => () => g.cs.rng.randomBytes(g.cs.kdf.size);
const tree = (text) => (text ? whole(decodeRatchetTree, bytes(text)) : undefined);
const wrap = (m) => packed(m.wireformat, m.wireformat === "mls_public_message" ? "publicMessage" : "privateMessage", m.publicMessage ?? m.privateMessage);

// update makes a new leaf. ts-mls can only send one that somebody else has made,
// and never learns its private key: see inCommit.
async function update(g) {
  const pair = await g.cs.hpke.generateKeyPair();
  const old = getOwnLeafNode(g.state);
  const leafNode = await signLeafNodeCommit({
    leafNodeSource: "update",
    hpkePublicKey: await g.cs.hpke.exportPublicKey(pair.publicKey),
    signaturePublicKey: old.signaturePublicKey,
    credential: old.credential,
    capabilities: old.capabilities,
    extensions: old.extensions,
    groupId: g.state.groupContext.groupId,
    leafIndex: g.state.privatePath.leafIndex,
  }, g.state.signaturePrivateKey, g.cs.signature);
  g.updates.push({ key: leafNode.hpkePublicKey, privateKey: await g.cs.hpke.exportPrivateKey(pair.privateKey) });
  return { proposalType: "update", update: { leafNode } };
}

const made = (g, p) => (p.type === "update" ? update(g) : proposal(p, randomOf(g)));

// inCommit is told of a commit's proposals before its path is opened. Where an
// update of our own is among them the path may be sealed to the new leaf.
function inCommit(g, state) {
  return (incoming) => {
    const own = state.privatePath.leafIndex;
    for (const { proposal: p, senderLeafIndex } of incoming.kind === "commit" ? incoming.proposals : []) {
      if (p.proposalType !== "update" || senderLeafIndex !== own) continue;
      const mine = g.updates.find((u) => Buffer.compare(u.key, p.update.leafNode.hpkePublicKey) === 0);
      if (mine === undefined) throw new Error("an update of ours that we did not make");
      state.privatePath.privateKeys[2 * own] = mine.privateKey;
    }
    return "accept";
  };
}

// committable leaves out what a committer may not commit: its own updates, and its
// own removal.
function committable(state) {
  const own = state.privatePath.leafIndex;
  const keeps = ([, { proposal: p, senderLeafIndex }]) =>
    !(p.proposalType === "update" && senderLeafIndex === own) && !(p.proposalType === "remove" && p.remove.removed === own);
  return { ...state, unappliedProposals: Object.fromEntries(Object.entries(state.unappliedProposals).filter(keeps)) };
}

async function open(g, m) {
  const state = { ...g.state, privatePath: { ...g.state.privatePath, privateKeys: { ...g.state.privatePath.privateKeys } } };
  if (m.wireformat === "mls_private_message")
    return processPrivateMessage(state, m.privateMessage, pskIndex(g.client), g.cs, inCommit(g, state));
  const { sender, epoch } = m.publicMessage.content;
  if (sender.senderType !== "external")
    return processPublicMessage(state, m.publicMessage, pskIndex(g.client), g.cs, inCommit(g, state));
  if (epoch !== state.groupContext.epoch) throw new Error("a proposal of another epoch");
  const { key } = externalSender(state.groupContext, sender.senderIndex);
  const content = await unprotectPublicMessage(state.keySchedule.membershipKey, state.groupContext, state.ratchetTree, m.publicMessage, g.cs, key);
  return { newState: await processProposal(state, content, content.content.proposal, g.cs.hash) };
}

// external_pub is an HPKEPublicKey (RFC 9420, Section 12.4.3.2), which has its length
// before it (Section 7.1). ts-mls reads and writes the bare key. These are its suites
// with the length read and written at that one place; GroupInfo is signed, so it
// cannot be mended before or after.
function readsExternalPub(cs, groupInfo) {
  const data = groupInfo.extensions.find((e) => e.extensionType === "external_pub")?.extensionData;
  const importPublicKey = async (key) => cs.hpke.importPublicKey(key === data ? whole(decodeVarLenData, key) : key);
  return { ...cs, hpke: { ...cs.hpke, importPublicKey } };
}

function writesExternalPub(cs) {
  const exportPublicKey = async (key) => encode(varLenDataEncoder)(await cs.hpke.exportPublicKey(key));
  return { ...cs, hpke: { ...cs.hpke, exportPublicKey } };
}

// next makes the first commit of a group that follows another.
async function next(g, to, args, start) {
  const { publicPackage, privatePackage, cs } = await freshKeyPackage(g.client, args);
  const others = args.keyPackages.map((m) => message(m, "mls_key_package").keyPackage);
  const { newState, welcome } = await start(publicPackage, privatePackage, others, cs);
  const tree = b64(encodeRatchetTree(newState.ratchetTree));
  return { ...keep(to, g.client, cs, newState), welcome: welcome && packed("mls_welcome", "welcome", welcome), tree };
}

export const verbs = {
  async createGroup({ client, group, groupId, extensions: list, supports }) {
    const c = findClient(client);
    const { publicPackage, privatePackage, cs } = await freshKeyPackage(c, { supports });
    return keep(group, c, cs, await createGroup(bytes(groupId), publicPackage, privatePackage, extensions(list), cs, config));
  },

  async join({ client, group, welcome, tree: aside, from }) {
    const c = findClient(client);
    const w = message(welcome, "mls_welcome").welcome;
    for (const p of c.packages) {
      const ref = await makeKeyPackageRef(p.publicPackage, p.cs.hash);
      if (!w.secrets.some((s) => Buffer.compare(s.newMember, ref) === 0)) continue;
      const old = from && find(from).state;
      const state = await joinGroup(w, p.publicPackage, p.privatePackage, pskIndex(c), p.cs, tree(aside), old, config);
      c.packages = c.packages.filter((x) => x !== p);
      return keep(group, c, p.cs, state);
    }
    throw new Error("a welcome for none of our key packages");
  },

  async joinExternal({ client, group, groupInfo, tree: aside, resync, ad, supports }) {
    const c = findClient(client);
    const info = message(groupInfo, "mls_group_info").groupInfo;
    const { publicPackage, privatePackage, cs } = await freshKeyPackage(c, { supports });
    const { publicMessage, newState } = await joinGroupExternal(info, publicPackage, privatePackage, resync ?? false, readsExternalPub(cs, info), tree(aside), config, bytes(ad));
    return { ...keep(group, c, cs, newState), message: packed("mls_public_message", "publicMessage", publicMessage) };
  },

  view: ({ group }) => view(find(group)),
  drop: ({ group }) => drop(group),
  clone({ group, to }) {
    const g = find(group);
    return keep(to, g.client, g.cs, g.state);
  },
  tree: ({ group }) => ({ tree: b64(encodeRatchetTree(find(group).state.ratchetTree)) }),

  // The state as bytes and back: what would survive a restart.
  restore({ group }) {
    const g = find(group);
    g.state = { ...whole(decodeGroupState, encodeGroupState(g.state)), clientConfig: config };
    return view(g);
  },

  async export({ group, label, context, length }) {
    const { state, cs } = find(group);
    return { secret: b64(await mlsExporter(state.keySchedule.exporterSecret, label, bytes(context), length, cs)) };
  },

  async groupInfo({ group, tree: within }) {
    const { state, cs } = find(group);
    const make = within ? createGroupInfoWithExternalPubAndRatchetTree : createGroupInfoWithExternalPub;
    return { message: packed("mls_group_info", "groupInfo", await make(state, [], writesExternalPub(cs))) };
  },

  async propose({ group, proposal: p, public: open, ad }) {
    const g = find(group);
    const { newState, message: m } = await createProposal(g.state, open ?? false, await made(g, p), g.cs, bytes(ad));
    g.state = newState;
    return { message: wrap(m) };
  },

  // All proposals that have come in are committed by reference, these by value.
  // `merge` takes the commit, any other commit that is processed drops it.
  async commit({ group, proposals, public: open, ad, tree: within }) {
    const g = find(group);
    const byValue = [];
    for (const p of proposals ?? []) byValue.push(await made(g, p));
    const options = { wireAsPublicMessage: open ?? false, extraProposals: byValue, ratchetTreeExtension: within ?? false, authenticatedData: bytes(ad) };
    const { newState, welcome, commit } = await createCommit({ state: committable(g.state), cipherSuite: g.cs, pskIndex: pskIndex(g.client) }, options);
    g.pending = newState;
    return { message: wrap(commit), welcome: welcome && packed("mls_welcome", "welcome", welcome) };
  },

  merge({ group }) {
    const g = find(group);
    if (g.pending === undefined) throw new Error("nothing to merge");
    advance(g, g.pending);
    return view(g);
  },

  async process({ group, message: text }) {
    const g = find(group);
    const m = message(text, "mls_private_message", "mls_public_message");
    const ad = b64(m.privateMessage?.authenticatedData ?? m.publicMessage.content.authenticatedData);
    const result = await open(g, m);
    if (result.kind === "applicationMessage") {
      g.state = result.newState;
      return { data: b64(result.message), ad };
    }
    const epoch = g.state.groupContext.epoch;
    if (result.newState.groupContext.epoch !== epoch || result.newState.groupActiveState.kind !== "active") advance(g, result.newState);
    else g.state = result.newState;
    return { ...view(g), ad };
  },

  async encrypt({ group, data, ad, padding }) {
    const g = find(group);
    const padded = { ...g.state, clientConfig: { ...config, paddingConfig: { kind: "alwaysPad", paddingLength: padding ?? 0 } } };
    const { newState, privateMessage } = await createApplicationMessage(padded, bytes(data), g.cs, bytes(ad));
    g.state = { ...newState, clientConfig: config };
    return { message: packed("mls_private_message", "privateMessage", privateMessage) };
  },

  // The group after a reinit that was committed.
  async reinit({ group, to, ...args }) {
    const g = find(group);
    const named = await name(args.suite);
    return next(g, to, args, (own, secret, others) =>
      reinitCreateNewGroup(g.state, own, secret, others, bytes(args.groupId), named, extensions(args.extensions), provider(args.suite)));
  },

  async branch({ group, to, ...args }) {
    const g = find(group);
    return next(g, to, args, (own, secret, others, cs) => branchGroup(g.state, own, secret, others, bytes(args.groupId), cs));
  },
};
