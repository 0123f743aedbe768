/* The signature of a request by Signature Version 4 in one call; sigv4.py does the same by hashlib, whose objects cost
 * more than the hashing. The SHA-256 is that of libcrypto: its functions of <openssl/sha.h> are looked up here, since a
 * machine has the library, but seldom its headers. Written for the limited API: one library serves all versions of
 * CPython.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <dlfcn.h>
#include <stdint.h>

#define HASH_BYTES 32
#define HEX_BYTES (2 * HASH_BYTES)
#define BLOCK_BYTES 64

/* SHA256_CTX of <openssl/sha.h>, the same in OpenSSL 1.1.1 and 3; with room for more. */
struct state {
    uint32_t hash[8], low, high, block[16];
    unsigned int used, size;
    uint32_t room[32];
};

static int (*start)(struct state *);
static int (*update)(struct state *, const void *, size_t);
static int (*finish)(unsigned char *, struct state *);

static const char *const libraries[] = {"libcrypto.so.3", "libcrypto.so.1.1"};

static int find_functions(void)
{
    for (size_t at = 0; at < sizeof libraries / sizeof *libraries; at++) {
        void *library = dlopen(libraries[at], RTLD_NOW | RTLD_LOCAL);
        if (!library)
            continue;
        *(void **)&start = dlsym(library, "SHA256_Init");
        *(void **)&update = dlsym(library, "SHA256_Update");
        *(void **)&finish = dlsym(library, "SHA256_Final");
        if (start && update && finish)
            return 1;
        dlclose(library);
    }
    return 0;
}

static void to_hex(const unsigned char *hash, char *hex)
{
    for (int at = 0; at < HASH_BYTES; at++) {
        *hex++ = "0123456789abcdef"[hash[at] >> 4];
        *hex++ = "0123456789abcdef"[hash[at] & 15];
    }
}

/* A hash that has taken the key with one of the pads of HMAC (RFC 2104 2). */
static void start_padded(struct state *state, const char *key, unsigned char pad)
{
    unsigned char block[BLOCK_BYTES];
    for (int at = 0; at < BLOCK_BYTES; at++)
        block[at] = pad ^ (at < HASH_BYTES ? (unsigned char)key[at] : 0);
    start(state);
    update(state, block, BLOCK_BYTES);
}

/* sign(key, head, request): the HMAC, by a key of 32 bytes, of `head` and the hash of `request` in hexadecimal digits. */
static PyObject *sign(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3 || PyBytes_Size(arguments[0]) != HASH_BYTES || !PyBytes_Check(arguments[2])) {
        PyErr_SetString(PyExc_TypeError, "sign takes a key of 32 bytes, the text before the hash, and the request");
        return NULL;
    }
    Py_ssize_t head_bytes;
    const char *head = PyUnicode_AsUTF8AndSize(arguments[1], &head_bytes);
    if (!head)
        return NULL;
    const char *key = PyBytes_AsString(arguments[0]);
    struct state state;
    unsigned char hash[HASH_BYTES];
    char hex[HEX_BYTES];

    start(&state);
    update(&state, PyBytes_AsString(arguments[2]), PyBytes_Size(arguments[2]));
    finish(hash, &state);
    to_hex(hash, hex);

    start_padded(&state, key, 0x36);
    update(&state, head, head_bytes);
    update(&state, hex, HEX_BYTES);
    finish(hash, &state);

    start_padded(&state, key, 0x5c);
    update(&state, hash, HASH_BYTES);
    finish(hash, &state);
    to_hex(hash, hex);
    return PyUnicode_FromStringAndSize(hex, HEX_BYTES);
}

static PyMethodDef functions[] = {
    {"sign", (PyCFunction)(void (*)(void))sign, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_signature", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__signature(void)
{
    if (!find_functions()) {
        PyErr_SetString(PyExc_ImportError, "libcrypto has no SHA-256 that can be called");
        return NULL;
    }
    return PyModule_Create(&definition);
}
