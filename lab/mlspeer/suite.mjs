// The cipher suites that both sides have, for ts-mls.
//
// Two things are mended here, each because ts-mls differs from the specification
// in a way that nothing would run without:
//
//   - ECDSA keys: ts-mls makes compressed points, RFC 9420 (Section 5.1.1) has
//     uncompressed ones. Signatures are Node's, too: those in JavaScript take
//     20 times as long, and most of the time of all tests.
//   - X-Wing: ts-mls derives key pairs as the KEM's own draft does; the standard
//     library of Go as draft-ietf-hpke-pq does, which is HPKE's. ts-mls has no
//     number for the suite of ours, but takes any number as a name.

import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { defaultCryptoProvider, getCiphersuiteImpl } from "ts-mls";
import { getCiphersuiteFromId } from "ts-mls/crypto/ciphersuite.js";

// Ours: X-Wing, ChaCha20-Poly1305, SHA-256, Ed25519, under a number for private use.
const XWING = 0xf71a;

export const SUITES = [1, 2, 3, 5, 7, XWING];

const curves = { 2: ["P-256", "sha256"], 5: ["P-521", "sha512"], 7: ["P-384", "sha384"] };
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
  return number in curves ? { ...impl, signature: ecdsa(...curves[number]) } : impl;
}

// ecdsa signs as RFC 9420 wants it: public keys are uncompressed points, signatures
// DER. Private keys are PKCS #8, which ts-mls does not look into.
function ecdsa(crv, hash) {
  const point = (jwk) => Buffer.concat([Buffer.from([4]), Buffer.from(jwk.x, "base64url"), Buffer.from(jwk.y, "base64url")]);
  const load = (key) => {
    const half = (key.length - 1) / 2;
    if (key[0] !== 4 || !Number.isInteger(half)) throw new Error("not an uncompressed point");
    const [x, y] = [key.subarray(1, 1 + half), key.subarray(1 + half)].map((b) => Buffer.from(b).toString("base64url"));
    return createPublicKey({ format: "jwk", key: { kty: "EC", crv, x, y } });
  };
  return {
    async keygen() {
      const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: crv });
      const signKey = new Uint8Array(privateKey.export({ format: "der", type: "pkcs8" }));
      return { signKey, publicKey: new Uint8Array(point(publicKey.export({ format: "jwk" }))) };
    },
    sign: async (key, message) => new Uint8Array(sign(hash, message, createPrivateKey({ key: Buffer.from(key), format: "der", type: "pkcs8" }))),
    verify: async (key, message, signature) => verify(hash, message, load(key), signature),
  };
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
