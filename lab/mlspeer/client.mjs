// Clients: who somebody is, their key packages and their external pre-shared keys.

import { defaultCapabilities, generateKeyPackageWithKey, makePskIndex, proposeAddExternal } from "ts-mls";
import { decodeCredential } from "ts-mls/credential.js";
import { decodeVarLenData, decodeVarLenType } from "ts-mls/codec/variableLength.js";
import { mapDecoders } from "ts-mls/codec/tlsDecoder.js";
import { protectExternalProposalPublic } from "ts-mls/messageProtectionPublic.js";
import { b64, bytes, message, packed, proposal, whole } from "./wire.mjs";
import { SUITES, suite } from "./suite.mjs";

const clients = new Map();

export function find(id) {
  const c = clients.get(id);
  if (c === undefined) throw new Error(`no client ${id}`);
  return c;
}

// What ts-mls asks its user about. Lifetimes are checked in what others add, too.
export const config = {
  keyRetentionConfig: { retainKeysForGenerations: 64, retainKeysForEpochs: 8, maximumForwardRatchetSteps: 256 },
  lifetimeConfig: { maximumTotalLifetime: 1n << 62n, validateLifetimeOnReceive: true },
  keyPackageEqualityConfig: {
    compareKeyPackages: (a, b) => same(a.leafNode.signaturePublicKey, b.leafNode.signaturePublicKey),
    compareKeyPackageToLeafNode: (a, leaf) => same(a.leafNode.signaturePublicKey, leaf.signaturePublicKey),
  },
  paddingConfig: { kind: "alwaysPad", paddingLength: 0 },
  authService: {
    validateCredential: async (credential, key) => credential.credentialType === "basic" && credential.identity.length > 0 && key.length > 0,
  },
};

const same = (a, b) => Buffer.compare(a, b) === 0;

// pskIndex finds the keys that a client has: external ones, and resumption ones of
// every group it was in.
export function pskIndex(client) {
  return {
    findPsk(id) {
      if (id.psktype === "external") return client.psks.get(b64(id.pskId));
      for (const g of client.groups) {
        const found = makePskIndex(g.state, {}).findPsk(id);
        if (found !== undefined) return found;
      }
    },
  };
}

// signer is the client's signature key for a suite, and the suite.
async function signer(client, number) {
  if (!client.signers.has(number)) {
    const cs = await suite(number);
    client.signers.set(number, { cs, keys: await cs.signature.keygen() });
  }
  return client.signers.get(number);
}

// freshKeyPackage makes one and forgets it: for a leaf of one's own, in a group that
// one makes or enters from outside.
export async function freshKeyPackage(client, args = {}) {
  const { cs, keys } = await signer(client, args.suite ?? client.suite);
  const now = Math.floor(Date.now() / 1000);
  const usual = defaultCapabilities(); // with values of GREASE among them
  const made = await generateKeyPackageWithKey(
    { credentialType: "basic", identity: client.identity },
    { ...usual, ciphersuites: SUITES.map(String), extensions: [...usual.extensions, ...(args.supports ?? [])] },
    { notBefore: BigInt(now - 3600), notAfter: BigInt(now + 86400) },
    [],
    keys,
    cs,
  );
  return { ...made, cs };
}

// external_senders, which RFC 9420 (Section 12.1.8.1) has as a list in one extension
// and ts-mls as one sender in each of several.
const decodeSenders = decodeVarLenType(mapDecoders([decodeVarLenData, decodeCredential], (key, credential) => ({ key, credential })));

export function externalSender(groupContext, index) {
  const list = groupContext.extensions.find((e) => e.extensionType === "external_senders");
  const sender = list && whole(decodeSenders, list.extensionData)[index];
  if (sender === undefined) throw new Error(`no external sender ${index}`);
  return sender;
}

export const verbs = {
  async client({ client, suite: number, identity }) {
    const c = { suite: number, signers: new Map(), identity: bytes(identity), psks: new Map(), groups: new Set(), packages: [] };
    clients.set(client, c);
    return { key: b64((await signer(c, number)).keys.publicKey) };
  },

  psk({ client, pskId, psk }) {
    find(client).psks.set(b64(bytes(pskId)), bytes(psk));
  },

  async keyPackage({ client, ...args }) {
    const c = find(client);
    const made = await freshKeyPackage(c, args);
    c.packages.push(made);
    return { message: packed("mls_key_package", "keyPackage", made.publicPackage) };
  },

  // A client outside asks to be added.
  async externalAdd({ client, groupInfo, supports }) {
    const c = find(client);
    const info = message(groupInfo, "mls_group_info").groupInfo;
    const made = await freshKeyPackage(c, { supports });
    c.packages.push(made);
    const m = await proposeAddExternal(info, made.publicPackage, made.privatePackage, made.cs);
    return { message: packed(m.wireformat, "publicMessage", m.publicMessage) };
  },

  // A client outside, whose key is in the group's external_senders, proposes.
  async externalPropose({ client, groupInfo, index, proposal: p }) {
    const c = find(client);
    const info = message(groupInfo, "mls_group_info").groupInfo;
    const { cs, keys } = await signer(c, c.suite);
    const made = await proposal(p, () => cs.rng.randomBytes(cs.kdf.size));
    const sender = { senderType: "external", senderIndex: index };
    const { publicMessage } = await protectExternalProposalPublic(keys.signKey, info.groupContext, new Uint8Array(), made, sender, cs);
    return { message: packed("mls_public_message", "publicMessage", publicMessage) };
  },
};
