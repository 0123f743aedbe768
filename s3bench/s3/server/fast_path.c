/* The server's C code for simple requests; fast_path.py says what the functions return. They use the limited API, so that
 * one library serves all versions of CPython.
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
#define SLOT_BYTES 64 /* above the longest field name of S3, 59 bytes */
#define VERSION " HTTP/1.1"
#define VERSION_BYTES 9

/* Field names that matter here. */
enum field { HOST, CONTENT_LENGTH, CONNECTION, TRANSFER_ENCODING, EXPECT, RANGE, SDK_REQUEST, USER_AGENT, FIELDS, OTHER };
static const char *const field_names[FIELDS] = {
    "host", "content-length", "connection", "transfer-encoding", "expect", "range", "amz-sdk-request", "user-agent",
};

/* A dictionary, and a cache of its latest look-ups by the bytes of their keys. */
struct lookups {
    PyObject *values;
    struct slot {
        PyObject *value;
        enum field field;
        size_t size;
        char key[SLOT_BYTES];
    } slots[SLOTS];
};

/* From `bind`: RequestHead, NO_BODY, and the dictionaries of methods and of field names. */
static PyObject *head_class, *no_body;
static struct lookups known_methods, known_names;
static PyObject *empty, *at_once; /* "", "at_once" */

static PyObject *text(const char *at, const char *end)
{
    return PyUnicode_DecodeLatin1(at, end - at, NULL);
}

/* The slot of a key that the dictionary has; NULL if it has not, or on an error (exception set). */
static struct slot *find(struct lookups *known, const char *at, const char *end)
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
    for (slot->field = 0; slot->field < FIELDS; slot->field++)
        if (!PyUnicode_CompareWithASCIIString(value, field_names[slot->field]))
            return slot;
    slot->field = OTHER;
    return slot;
}

/* A head, and its attributes. */
struct head {
    PyObject *object, *path, *query, *fields;
    PyObject *method; /* borrowed from USUAL_METHODS, which never changes */
    PyObject *values[FIELDS];
    long long length_bytes;
};

static void release(struct head *head)
{
    Py_CLEAR(head->object);
    Py_CLEAR(head->path);
    Py_CLEAR(head->query);
    Py_CLEAR(head->fields);
    for (int i = 0; i < FIELDS; i++)
        Py_CLEAR(head->values[i]);
}

/* Parses a Content-Length; 0 if it is not simple. */
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

/* Adds the field of one line; 0 if it is not simple, or on an error (exception set). */
static int add_field(struct head *head, const char *at, const char *end)
{
    const char *colon = memchr(at, ':', end - at);
    struct slot *slot = colon ? find(&known_names, at, colon) : NULL;
    if (!slot || slot->field == CONNECTION || slot->field == TRANSFER_ENCODING || memchr(colon, '\n', end - colon)
        || memchr(colon, '\0', end - colon))
        return 0;
    at = colon + 1;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (slot->field == CONTENT_LENGTH && !parse_length(&head->length_bytes, at, end))
        return 0;
    PyObject *value = text(at, end);
    if (!value)
        return 0;
    if (slot->field < FIELDS) {
        Py_XDECREF(head->values[slot->field]);
        head->values[slot->field] = Py_NewRef(value);
    }
    int failed = PyDict_SetItem(head->fields, slot->value, value);
    Py_DECREF(value);
    return !failed;
}

/* Adds the fields of the lines in [at, end), each with the CRLF before it; 0 as `add_field`. */
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

/* Parses [at, end), a head without its empty line. Returns 0 if it is not simple, if `without_body` is asked for and it
 * has a body or Expect, or on an error (exception set).
 */
static int parse_simple(struct head *head, const char *at, const char *end, int without_body)
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
        && !(without_body && (head->length_bytes || head->values[EXPECT]))) {
        PyObject *length = PyLong_FromLongLong(head->length_bytes);
        head->method = method->value;
        head->path = text(target, question ? question : version);
        head->query = question ? text(question + 1, version) : Py_NewRef(empty);
        if (head->path && head->query && length)
            head->object = PyObject_CallFunctionObjArgs(
                head_class, head->method, head->path, head->query, head->fields, length, Py_False, Py_False, NULL);
        Py_XDECREF(length);
    }
    if (!head->object)
        release(head);
    return head->object != NULL;
}

static PyObject *parse_head(PyObject *module, PyObject *raw)
{
    char *at;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(raw, &at, &size))
        return NULL;
    struct head head;
    PyObject *result = NULL;
    if (parse_simple(&head, at, at + size, 0)) {
        result = Py_NewRef(head.object);
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

/* The arguments of `exchange`, and what becomes of them. */
struct exchange {
    PyObject *finish, *date_line, *records, *started_ns, *connection; /* borrowed */
    int descriptor;
    struct head head;
    PyObject *answered_ns;
};

static PyObject *field_or_empty(const struct head *head, enum field field)
{
    return head->values[field] ? head->values[field] : empty;
}

/* Appends what `recorder.WireRecorder.add` appends for a request without a body; 0 on an error (exception set). */
static int record(const struct exchange *exchange, Py_ssize_t body_bytes, PyObject *facts)
{
    const struct head *head = &exchange->head;
    PyObject *row = Py_BuildValue(
        "OOONOOOOOOOiinOO", exchange->started_ns, exchange->answered_ns, exchange->answered_ns, now(), head->method,
        head->path, head->query, field_or_empty(head, RANGE), field_or_empty(head, SDK_REQUEST),
        field_or_empty(head, USER_AGENT), exchange->connection, 0, 0, body_bytes, facts, empty);
    int is_kept = row && !PyList_Append(exchange->records, row);
    Py_XDECREF(row);
    return is_kept;
}

/* Clears the current exception, and returns it. */
static PyObject *take_exception(void)
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

/* Sends `Reply.at_once`, and records the exchange if all was sent. Returns the bytes sent, or -1 on an error (exception
 * set).
 */
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
    PyObject *head = exchange->head.object, *result = NULL;
    PyObject *reply = PyObject_CallFunctionObjArgs(exchange->finish, head, no_body, exchange->date_line, NULL);
    PyObject *parts = reply ? PyObject_GetAttr(reply, at_once) : NULL;
    if (!parts) { /* the caller raises it, after noting the request */
        Py_XDECREF(reply);
        if (!PyErr_ExceptionMatches(PyExc_Exception)) /* such as KeyboardInterrupt */
            return NULL;
        reply = take_exception();
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
    if (end && end == received + size - 4 && has_room && parse_simple(&exchange.head, received, end, 1)) {
        PyObject *result = respond(&exchange);
        release(&exchange.head);
        return result;
    }
    return PyErr_Occurred() ? NULL : PyBytes_FromStringAndSize(received, size);
}

static PyObject *bind_objects(PyObject *module, PyObject *arguments)
{
    if (!PyArg_ParseTuple(arguments, "OOO!O!", &head_class, &no_body, &PyDict_Type, &known_methods.values,
                          &PyDict_Type, &known_names.values))
        return NULL;
    Py_INCREF(head_class);
    Py_INCREF(no_body);
    Py_INCREF(known_methods.values);
    Py_INCREF(known_names.values);
    empty = PyUnicode_FromString("");
    at_once = PyUnicode_InternFromString("at_once");
    return empty && at_once ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef functions[] = {
    {"bind", bind_objects, METH_VARARGS, NULL},
    {"parse_head", parse_head, METH_O, NULL},
    {"exchange", (PyCFunction)(void (*)(void))exchange, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_fast_path", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fast_path(void)
{
    return PyModule_Create(&definition);
}
