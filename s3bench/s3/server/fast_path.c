/* What the server does once a request; fast_path.py says what the functions give. They use the limited API, so that one
 * library serves all versions of CPython.
 */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define RECEIVE_BYTES 65536 /* as in connection.py */
#define SLOTS 256
#define SLOT_BYTES 64 /* the longest field names of S3 */
#define VERSION " HTTP/1.1"
#define VERSION_BYTES 9

/* Field names that matter here. */
enum name { HOST, CONTENT_LENGTH, CONNECTION, TRANSFER_ENCODING, EXPECT, RANGE, SDK_REQUEST, USER_AGENT, NAMES, OTHER };
static const char *const names[NAMES] = {
    "host", "content-length", "connection", "transfer-encoding", "expect", "range", "amz-sdk-request", "user-agent",
};

/* A dictionary that is asked by bytes, and what it gave to the latest of them. */
struct known {
    PyObject *values;
    struct slot {
        PyObject *value;
        enum name name; /* of a field */
        size_t size;
        char key[SLOT_BYTES];
    } slots[SLOTS];
};

/* From `bind`: the class of heads, what a handler gets for no body, methods and field names that Python finds valid. */
static PyObject *head_class, *no_body;
static struct known known_methods, known_names;
static PyObject *zero, *empty, *at_once; /* 0, "", "at_once" */

static PyObject *text(const char *at, const char *end)
{
    return PyUnicode_DecodeLatin1(at, end - at, NULL);
}

/* The slot for a text that the dictionary has; NULL where it has nothing (or, with an exception, no memory). */
static struct slot *find(struct known *known, const char *at, const char *end)
{
    size_t size = end - at;
    if (!size || size > SLOT_BYTES)
        return NULL;
    struct slot *slot = &known->slots[(at[0] * 31u + end[-1] * 7u + size) % SLOTS];
    if (slot->size == size && !memcmp(slot->key, at, size))
        return slot;
    PyObject *key = text(at, end);
    if (!key)
        return NULL;
    PyObject *value = PyDict_GetItemWithError(known->values, key);
    Py_DECREF(key);
    if (!value)
        return NULL;
    Py_INCREF(value);
    Py_XDECREF(slot->value);
    slot->value = value;
    slot->size = size;
    memcpy(slot->key, at, size);
    for (slot->name = 0; slot->name < NAMES; slot->name++)
        if (!PyUnicode_CompareWithASCIIString(value, names[slot->name]))
            return slot;
    slot->name = OTHER;
    return slot;
}

/* A head, and its attributes. */
struct head {
    PyObject *whole, *path, *query, *fields;
    PyObject *method;        /* borrowed: there are few, and all are kept */
    PyObject *values[NAMES]; /* of these fields */
    long long length_bytes;
};

static void release(struct head *head)
{
    Py_CLEAR(head->whole);
    Py_CLEAR(head->path);
    Py_CLEAR(head->query);
    Py_CLEAR(head->fields);
    for (int i = 0; i < NAMES; i++)
        Py_CLEAR(head->values[i]);
}

/* Reads a Content-Length; 0 where it is not usual. */
static int parse_length(long long *length_bytes, const char *at, const char *end)
{
    if (at == end || end - at > 18)
        return 0;
    for (*length_bytes = 0; at < end; at++) {
        if (*at < '0' || *at > '9')
            return 0;
        *length_bytes = *length_bytes * 10 + (*at - '0');
    }
    return 1;
}

/* Adds the field of one line; 0 where it is not usual. */
static int add_field(struct head *head, const char *at, const char *end)
{
    const char *colon = memchr(at, ':', end - at);
    struct slot *slot = colon ? find(&known_names, at, colon) : NULL;
    if (!slot || slot->name == CONNECTION || slot->name == TRANSFER_ENCODING || memchr(colon, '\n', end - colon)
        || memchr(colon, '\0', end - colon))
        return 0;
    at = colon + 1;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (slot->name == CONTENT_LENGTH && !parse_length(&head->length_bytes, at, end))
        return 0;
    PyObject *value = text(at, end);
    if (!value)
        return 0;
    if (slot->name < NAMES) {
        Py_XDECREF(head->values[slot->name]);
        head->values[slot->name] = Py_NewRef(value);
    }
    int failed = PyDict_SetItem(head->fields, slot->value, value);
    Py_DECREF(value);
    return !failed;
}

/* Adds the fields of the lines in [at, end), each of which begins with the CRLF that ends the line before; 0 where they
 * are not usual.
 */
static int add_fields(struct head *head, const char *at, const char *end)
{
    Py_ssize_t count = 0;
    for (; at < end; count++) {
        const char *line = at + 2;
        if (line > end || at[1] != '\n')
            return 0;
        at = memchr(line, '\r', end - line);
        if (!at)
            at = end;
        if (!add_field(head, line, at))
            return 0;
    }
    return head->values[HOST] && PyDict_Size(head->fields) == count; /* none is repeated */
}

/* Makes the head in [at, end), without the empty line; 0 where it is not usual (or, with an exception, no memory), or
 * `bodyless` and it announces a body or waits for 100 Continue.
 */
static int parse_usual(struct head *head, const char *at, const char *end, int bodyless)
{
    memset(head, 0, sizeof *head);
    const char *line_end = memchr(at, '\r', end - at);
    if (!line_end || line_end - at < VERSION_BYTES)
        return 0;
    const char *target = memchr(at, ' ', line_end - at), *version = line_end - VERSION_BYTES, *question = NULL;
    if (!target || ++target >= version || *target != '/' || memcmp(version, VERSION, VERSION_BYTES))
        return 0;
    struct slot *method = find(&known_methods, at, target - 1);
    if (!method)
        return 0;
    for (at = target; at < version; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte == ' ' || byte == '\n' || !byte || (!question && (byte == '%' || byte >= 0x80)))
            return 0;
        if (byte == '?' && !question)
            question = at;
    }
    head->fields = PyDict_New();
    if (head->fields && add_fields(head, line_end, end)
        && !(bodyless && (head->length_bytes || head->values[EXPECT]))) {
        PyObject *length = head->length_bytes ? PyLong_FromLongLong(head->length_bytes) : Py_NewRef(zero);
        head->method = method->value;
        head->path = text(target, question ? question : version);
        head->query = question ? text(question + 1, version) : Py_NewRef(empty);
        if (head->path && head->query && length)
            head->whole = PyObject_CallFunctionObjArgs(
                head_class, head->method, head->path, head->query, head->fields, length, Py_False, Py_False, NULL);
        Py_XDECREF(length);
    }
    if (!head->whole)
        release(head);
    return head->whole != NULL;
}

static PyObject *parse_head(PyObject *module, PyObject *raw)
{
    char *at;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(raw, &at, &size))
        return NULL;
    struct head head;
    PyObject *result = NULL;
    if (parse_usual(&head, at, at + size, 0)) {
        result = Py_NewRef(head.whole);
        release(&head);
    }
    return result || PyErr_Occurred() ? result : Py_NewRef(Py_None);
}

static PyObject *now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return PyLong_FromLongLong(at.tv_sec * 1000000000LL + at.tv_nsec);
}

/* What `exchange` is called with, and what becomes of it. */
struct exchange {
    PyObject *finish, *date_line, *records, *started_ns, *connection; /* borrowed */
    int descriptor;
    struct head head;
    PyObject *answered_ns;
};

static PyObject *value(const struct head *head, enum name name)
{
    return head->values[name] ? head->values[name] : empty;
}

/* Appends what `recorder.WireRecorder.add` appends for a request without a body; 0 without memory. */
static int record(const struct exchange *exchange, Py_ssize_t body_bytes, PyObject *facts)
{
    const struct head *head = &exchange->head;
    PyObject *row = Py_BuildValue(
        "OOONOOOOOOOOOnOO", exchange->started_ns, exchange->answered_ns, exchange->answered_ns, now(), head->method,
        head->path, head->query, value(head, RANGE), value(head, SDK_REQUEST), value(head, USER_AGENT),
        exchange->connection, zero, zero, body_bytes, facts, empty);
    int is_kept = row && !PyList_Append(exchange->records, row);
    Py_XDECREF(row);
    return is_kept;
}

/* The exception that is raised, which is so no more. */
static PyObject *caught(void)
{
    PyObject *class, *exception, *traceback;
    PyErr_Fetch(&class, &exception, &traceback);
    PyErr_NormalizeException(&class, &exception, &traceback);
    if (traceback)
        PyException_SetTraceback(exception, traceback);
    Py_XDECREF(class);
    Py_XDECREF(traceback);
    return exception;
}

/* Sends `Reply.at_once`, and records the exchange if all of it is taken; how many bytes are. -1 with an exception. */
static Py_ssize_t send_recorded(const struct exchange *exchange, PyObject *parts, int *is_recorded)
{
    PyObject *data = PyTuple_GetItem(parts, 0), *head_bytes = PyTuple_GetItem(parts, 1); /* borrowed */
    PyObject *facts = PyTuple_GetItem(parts, 2);
    Py_ssize_t size;
    char *at;
    if (!data || !head_bytes || !facts || PyBytes_AsStringAndSize(data, &at, &size))
        return -1;
    Py_ssize_t sent = send(exchange->descriptor, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) /* a full socket is waited for; any other trouble shows again when sending goes on */
        return 0;
    *is_recorded = sent == size;
    return sent < size || record(exchange, size - PyLong_AsSsize_t(head_bytes), facts) ? sent : -1;
}

/* Replies to the head. */
static PyObject *respond(struct exchange *exchange)
{
    PyObject *head = exchange->head.whole, *result = NULL;
    PyObject *reply = PyObject_CallFunctionObjArgs(exchange->finish, head, no_body, exchange->date_line, NULL);
    PyObject *parts = reply ? PyObject_GetAttr(reply, at_once) : NULL;
    if (!parts) { /* the caller raises it, once the request is noted */
        Py_XDECREF(reply);
        if (!PyErr_ExceptionMatches(PyExc_Exception)) /* such as KeyboardInterrupt */
            return NULL;
        reply = caught();
    }
    exchange->answered_ns = now();
    Py_ssize_t sent = exchange->answered_ns ? 0 : -1;
    int is_recorded = 0;
    if (!sent && parts && parts != Py_None)
        sent = send_recorded(exchange, parts, &is_recorded);
    if (sent >= 0)
        result = is_recorded ? Py_NewRef(Py_None) : Py_BuildValue("OOOn", head, reply, exchange->answered_ns, sent);
    Py_XDECREF(exchange->answered_ns);
    Py_XDECREF(parts);
    Py_XDECREF(reply);
    return result;
}

static PyObject *exchange(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 7) {
        PyErr_SetString(PyExc_TypeError, "exchange takes 7 arguments");
        return NULL;
    }
    struct exchange exchange = {
        .finish = arguments[0],
        .date_line = arguments[1],
        .records = arguments[2],
        .started_ns = arguments[4],
        .descriptor = (int)PyLong_AsLong(arguments[5]),
        .connection = arguments[6],
    };
    int has_room = PyList_Size(exchange.records) < PyLong_AsSsize_t(arguments[3]);
    if (PyErr_Occurred())
        return NULL;
    char received[RECEIVE_BYTES];
    ssize_t size = recv(exchange.descriptor, received, RECEIVE_BYTES, MSG_DONTWAIT);
    if (size < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    const char *end = size > 4 ? memmem(received, size, "\r\n\r\n", 4) : NULL;
    if (end && end == received + size - 4 && has_room && parse_usual(&exchange.head, received, end, 1)) {
        PyObject *result = respond(&exchange);
        release(&exchange.head);
        return result;
    }
    return PyErr_Occurred() ? NULL : PyBytes_FromStringAndSize(received, size);
}

static PyObject *bind_names(PyObject *module, PyObject *arguments)
{
    if (!PyArg_ParseTuple(arguments, "OOO!O!", &head_class, &no_body, &PyDict_Type, &known_methods.values,
                          &PyDict_Type, &known_names.values))
        return NULL;
    Py_INCREF(head_class);
    Py_INCREF(no_body);
    Py_INCREF(known_methods.values);
    Py_INCREF(known_names.values);
    zero = PyLong_FromLong(0);
    empty = PyUnicode_FromString("");
    at_once = PyUnicode_InternFromString("at_once");
    return zero && empty && at_once ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef functions[] = {
    {"bind", bind_names, METH_VARARGS, NULL},
    {"parse_head", parse_head, METH_O, NULL},
    {"exchange", (PyCFunction)(void (*)(void))exchange, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_fast_path", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fast_path(void)
{
    return PyModule_Create(&definition);
}
