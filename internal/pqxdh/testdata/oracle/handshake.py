"""Computes the outcome of a handshake a second time, from docs/spec/session.md and the private keys in a known-answer file.

The file comes on standard input; associated data and secret of both sides go to standard output. ML-KEM is not computed: its secret
is taken from the file.
"""

import hashlib
import hmac
import json
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

SIGN, DH, KEM = b"\x01", b"\x02", b"\x03"


def info(label, *parts):
    return label.encode() + b"\0" + b"".join(len(p).to_bytes(2, "big") + p for p in parts)


def hash_of(label, *parts):
    return hashlib.sha256(info(label, *parts)).digest()


def kdf32(secret, label, *parts):
    prk = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    return hmac.new(prk, info(label, *parts) + b"\x01", hashlib.sha256).digest()


def agree(private, public):
    return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))


def named(encoded):
    return hash_of("tacet/v1/pqxdh/id", encoded)[:8] + encoded


def verify(signer, label, encoded, signature):
    Ed25519PublicKey.from_public_bytes(signer).verify(signature, info(label, encoded))  # raises if it is none


v = {a["name"]: bytes.fromhex(a["hex"]) for a in json.load(sys.stdin)}
pre, private, initial = v["prekeys"], v["private prekeys"], v["initial"]
assert (len(pre), len(private), len(initial)) == (1441, 129, 1122)
spk, opk, kem = pre[:32], pre[97:129], pre[193:1377]
one_time = pre[96] == 1
suite, ek, ct = initial[:1], initial[2:34], initial[34:]
assert suite == b"\x02" and initial[1] == pre[96]

verify(v["responder sign"], "tacet/v1/pqxdh/signed", DH + spk, pre[32:96])
verify(v["responder sign"], "tacet/v1/pqxdh/kem", KEM + kem, pre[1377:])
if one_time:
    verify(v["responder sign"], "tacet/v1/pqxdh/one-time", DH + opk, pre[129:193])

ad = hash_of(
    "tacet/v1/pqxdh/transcript", suite,
    SIGN + v["initiator root"], SIGN + v["initiator sign"], DH + v["initiator DH"], v["initiator manifest"],
    SIGN + v["responder root"], SIGN + v["responder sign"], DH + v["responder DH"], v["responder manifest"],
    v["bundle"], named(DH + spk), named(DH + opk) if one_time else b"", named(KEM + kem), DH + ek, ct)

ik_a, ek_a = v["initiator DH private"], v["ephemeral private"]
ik_b, spk_b, opk_b = v["responder DH private"], private[:32], private[33:65]
sides = (
    [agree(ik_a, spk), agree(ek_a, v["responder DH"]), agree(ek_a, spk)] + ([agree(ek_a, opk)] if one_time else []),
    [agree(spk_b, v["initiator DH"]), agree(ik_b, ek), agree(spk_b, ek)] + ([agree(opk_b, ek)] if one_time else []),
)
for dhs in sides:
    km = b"\xff" * 32 + b"".join(dhs) + v["KEM secret"]
    print(json.dumps(dict(ad=ad.hex(), secret=kdf32(km, "tacet/v1/pqxdh/secret", suite, ad).hex())))
