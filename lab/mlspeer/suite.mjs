// The cipher suites that both sides have, for ts-mls.
//
// Two things are mended here, each because ts-mls differs from the specification
// in a way that nothing would run without:
//
//   - ECDSA keys: ts-mls makes compressed points, RFC 9420 (Section 5.1.1) has
//     uncompressed ones.
//   - X-Wing: ts-mls derives key pairs as the KEM's own draft does; the standard
//     library of Go as draft-ietf-hpke-pq does, which is HPKE's. ts-mls has no
//     number for the suite of ours, but takes any number as a name.

import { createHash } from "node:crypto";
import { defaultCryptoProvider, getCiphersuiteImpl } from "ts-mls";
import { getCiphersuiteFromId } from "ts-mls/crypto/ciphersuite.js";
import { p256, p384, p521 } from "@noble/curves/nist.js";

// Ours: X-Wing, ChaCha20-Poly1305, SHA-256, Ed25519, under a number for private use.
const XWING = 0xf71a;

export const SUITES = [1, 2, 3, 5, 7, XWING];

const curves = { 2: p256, 5: p521, 7: p384 };
const made = new Map(); // number → what ts-mls calls a CiphersuiteImpl

// suite gives ts-mls's implementation of a suite.
export async function suite(number) {
  if (!SUITES.includes(number)) throw new Error(`no suite ${number}`);
  if (!made.has(number)) made.set(number, await make(number));
  return made.get(number);
}

// provider is what ts-mls asks for the implementation of another suite than the
// group's, when it makes the group that follows one.
export function provider(number) {
  return { getCiphersuiteImpl: () => suite(number) };
}

// name is what ts-mls calls a suite in its structures.
export async function name(number) {
  return (await suite(number)).name;
}

async function make(number) {
  if (number === XWING) return xwing();
  const impl = await getCiphersuiteImpl(getCiphersuiteFromId(number));
  const curve = curves[number];
  if (curve === undefined) return impl;
  const keygen = async () => {
    const signKey = curve.utils.randomSecretKey();
    return { signKey, publicKey: curve.getPublicKey(signKey, false) };
  };
  return { ...impl, signature: { ...impl.signature, keygen } };
}

async function xwing() {
  const impl = await defaultCryptoProvider.getCiphersuiteImpl({
    name: String(XWING),
    hash: "SHA-256",
    hpke: { kem: "X-Wing", kdf: "HKDF-SHA256", aead: "CHACHA20POLY1305" },
    signature: "Ed25519",
  });
  const { XWing } = await import("@hpke/hybridkem-x-wing");
  const kem = new XWing();
  const deriveKeyPair = async (ikm) => kem.generateKeyPairDerand(labeledDerive(ikm, "DeriveKeyPair", 32));
  return { ...impl, hpke: { ...impl.hpke, deriveKeyPair } };
}

// draft-ietf-hpke-pq: LabeledDerive of SHAKE256, with the suite "KEM" ‖ 0x647a and
// an empty context.
function labeledDerive(ikm, label, length) {
  const hash = createHash("shake256", { outputLength: length });
  const number = (n) => Buffer.from([n >> 8, n & 255]);
  for (const part of [ikm, "HPKE-v1", "KEM", number(0x647a), number(label.length), label, number(length)]) hash.update(part);
  return new Uint8Array(hash.digest());
}
