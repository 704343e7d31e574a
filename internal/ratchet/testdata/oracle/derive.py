"""Tacet's derivations and AEAD for the two oracles, written from docs/spec/session.md."""

import hashlib
import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def info(label, *parts):
    out = label.encode() + b"\0"
    for p in parts:
        out += len(p).to_bytes(2, "big") + p
    return out


def hkdf(secret, salt, info_bytes, n):
    prk = hmac.new(salt or bytes(32), secret, hashlib.sha256).digest()
    out, block, i = b"", b"", 1
    while len(out) < n:
        block = hmac.new(prk, block + info_bytes + bytes([i]), hashlib.sha256).digest()
        out, i = out + block, i + 1
    return out[:n]


def begin(sk):
    out = hkdf(sk, None, info("tacet/v1/ratchet/begin"), 96)
    return out[:32], out[32:64], out[64:]  # root key, shared_hka, shared_nhkb


def kdf_rk(rk, dh):
    out = hkdf(dh, rk, info("tacet/v1/ratchet/root"), 96)
    return out[:32], out[32:64], out[64:]  # root key, chain key, next header key


def kdf_ck(ck):
    out = hkdf(ck, None, info("tacet/v1/ratchet/chain"), 64)
    return out[:32], out[32:]  # chain key, EC key of the message


def message_key(ec, braid):
    return hkdf(ec, braid, info("tacet/v1/ratchet/message"), 32)


def seal(k, nonce, plain, ad):
    return AESGCM(k).encrypt(nonce, plain, ad)


def unseal(k, nonce, data, ad):
    return AESGCM(k).decrypt(nonce, data, ad)  # raises InvalidTag


def dh_public(private):
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def dh(private, public):
    return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))
