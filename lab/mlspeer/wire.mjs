// Between bytes, JSON and the structures of ts-mls.

import { decodeMlsMessage, defaultExtensionTypes, encodeMlsMessage } from "ts-mls";
import { name } from "./suite.mjs";

export const b64 = (bytes) => (bytes === undefined ? undefined : Buffer.from(bytes).toString("base64"));
export const bytes = (text) => new Uint8Array(Buffer.from(text ?? "", "base64"));

// whole refuses what a decoder of ts-mls has not read to the end; it does not
// look by itself.
export function whole(decode, data) {
  const read = decode(data, 0);
  if (read === undefined) throw new Error("does not decode");
  if (read[1] !== data.length) throw new Error(`${data.length - read[1]} bytes too many`);
  return read[0];
}

export function message(text, ...kinds) {
  const m = whole(decodeMlsMessage, bytes(text));
  if (!kinds.includes(m.wireformat)) throw new Error(`a ${m.wireformat} instead of a ${kinds.join(" or a ")}`);
  return m;
}

export const packed = (wireformat, field, value) => b64(encodeMlsMessage({ version: "mls10", wireformat, [field]: value }));

const extensionNames = new Map(Object.entries(defaultExtensionTypes).map(([name, number]) => [number, name]));

export const extensions = (list) =>
  (list ?? []).map(({ type, data }) => ({ extensionType: extensionNames.get(type) ?? type, extensionData: bytes(data) }));

export const plainExtensions = (list) =>
  list.map((e) => ({ type: defaultExtensionTypes[e.extensionType] ?? e.extensionType, data: b64(e.extensionData) }));

// proposal makes one of everything but an update, which needs a group.
export async function proposal(p, random) {
  switch (p.type) {
    case "add":
      return { proposalType: "add", add: { keyPackage: message(p.keyPackage, "mls_key_package").keyPackage } };
    case "remove":
      return { proposalType: "remove", remove: { removed: p.leaf } };
    case "psk":
      return psk({ psktype: "external", pskId: bytes(p.pskId), pskNonce: random() });
    case "resumption":
      return psk({ psktype: "resumption", usage: p.usage, pskGroupId: bytes(p.groupId), pskEpoch: BigInt(p.epoch), pskNonce: random() });
    case "reinit":
      return {
        proposalType: "reinit",
        reinit: { groupId: bytes(p.groupId), version: "mls10", cipherSuite: await name(p.suite), extensions: extensions(p.extensions) },
      };
    case "extensions":
      return { proposalType: "group_context_extensions", groupContextExtensions: { extensions: extensions(p.extensions) } };
  }
  throw new Error(`no proposal ${p.type}`);
}

const psk = (preSharedKeyId) => ({ proposalType: "psk", psk: { preSharedKeyId } });
