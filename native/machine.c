/* Compiled kernels as functions of Python: arguments are checked, and given on as words.

   An array is its address and its shape, a number is itself, a tuple is its values. The letters of
   a kernel's arguments are those of `Kind` in `cordwood.records.kernels.kernel_definition`, with the
   sizes that the kernel relies on. The GIL is released during a kernel. A kernel allocates nothing
   and calls nothing of Python.

   `kernels.inc` is written by `native/make_kernels.py`: the entries, the table `kernels`, and the
   constants KERNELS, MOST_BUFFERS, MOST_WORDS, MOST_RESULTS and FINGERPRINT. LEVELS is a flag of the
   compilation. */
#ifdef CORDWOOD_PYTHON_H
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#else
#include "python_abi.h"
#endif
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A kernel returns 0, or the status of a failure. */
typedef int32_t entry(const int64_t *words, int64_t *results);
typedef struct {
    const char *name;
    const char *arguments; /* one letter for each, with a size if it has one; a tuple is in parentheses */
    int results;           /* 0 for None, 1 for a number, more for a tuple */
    entry *levels[LEVELS];
} kernel;
#include "kernels.inc"

typedef struct {
    Py_buffer buffers[MOST_BUFFERS + 1];
    int held;
    int64_t words[MOST_WORDS + 1];
    int used;
} call;

static int level;
static PyMethodDef methods[KERNELS];

static void release(call *this_call) {
    while (this_call->held) PyBuffer_Release(&this_call->buffers[--this_call->held]);
}

/* Whether a buffer has items of the letter's type: bytes, or words in the machine's order. */
static int has_items(const Py_buffer *buffer, char letter) {
    const char *named = buffer->format ? buffer->format : "B";
    char format = named[0] && !named[1] ? named[0] : 0;
    if (letter == 's') return buffer->itemsize == 4 && (format == 'i' || format == 'l');
    if (letter == 'q' || letter == 't') return buffer->itemsize == 8 && (format == 'l' || format == 'q');
    return buffer->itemsize == 1 && format == 'B';
}

static int is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/* Take the size behind a letter; 0 without one. */
static Py_ssize_t take_size(const char **letters) {
    Py_ssize_t size = 0;
    while (is_digit(**letters)) size = 10 * size + *(*letters)++ - '0';
    return size;
}

/* Whether a table has exactly so many columns, and another array at least so many items. */
static int has_size(const Py_buffer *buffer, Py_ssize_t size) {
    return !size || (buffer->ndim == 2 ? buffer->shape[1] == size : buffer->shape[0] >= size);
}

static int take_array(call *this_call, PyObject *object, const kernel *called, char letter, Py_ssize_t size) {
    Py_buffer *buffer = &this_call->buffers[this_call->held];
    int is_written = letter == 'b' || letter == 'q' || letter == 't';
    int dimensions = letter == 't' ? 2 : 1;
    if (PyObject_GetBuffer(object, buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (is_written ? PyBUF_WRITABLE : 0)))
        return -1;
    this_call->held++;
    if (buffer->ndim != dimensions || !has_items(buffer, letter)) {
        PyErr_Format(PyExc_TypeError, "%s: an array of format %s in %d dimensions, where `%c` is expected",
                     called->name, buffer->format ? buffer->format : "B", buffer->ndim, letter);
        return -1;
    }
    if (!has_size(buffer, size)) {
        PyErr_Format(PyExc_ValueError, "%s: an array with %zd items in its last dimension, where `%c%zd` is expected",
                     called->name, buffer->shape[dimensions - 1], letter, size);
        return -1;
    }
    this_call->words[this_call->used++] = (int64_t)(intptr_t)buffer->buf;
    for (int at = 0; at < dimensions; at++) this_call->words[this_call->used++] = buffer->shape[at];
    return 0;
}

static int take_number(call *this_call, PyObject *object) {
    PyObject *number = PyNumber_Index(object);
    if (!number) return -1;
    long long word = PyLong_AsLongLong(number);
    Py_DecRef(number);
    if (word == -1 && PyErr_Occurred()) return -1;
    this_call->words[this_call->used++] = word;
    return 0;
}

/* Take one argument, and leave `letters` behind its letters. */
static int take(call *this_call, PyObject *object, const kernel *called, const char **letters) {
    char letter = *(*letters)++;
    if (letter == 'i') return take_number(this_call, object);
    if (letter != '(') return take_array(this_call, object, called, letter, take_size(letters));
    Py_ssize_t count = 0;
    for (const char *at = *letters; *at != ')'; at++) count += !is_digit(*at);
    if (PyTuple_Size(object) != count) { /* -1 for another type, which is then the context */
        PyErr_Format(PyExc_TypeError, "%s: a tuple of %zd is expected", called->name, count);
        return -1;
    }
    for (Py_ssize_t at = 0; at < count; at++)
        if (take(this_call, PyTuple_GetItem(object, at), called, letters)) return -1;
    (*letters)++;
    return 0;
}

static int take_all(call *this_call, PyObject *const *arguments, Py_ssize_t count, const kernel *called) {
    const char *letters = called->arguments;
    Py_ssize_t at = 0;
    for (; at < count && *letters; at++)
        if (take(this_call, arguments[at], called, &letters)) return -1;
    if (at == count && !*letters) return 0;
    PyErr_Format(PyExc_TypeError, "%s: %zd arguments, where `%s` is expected", called->name, count, called->arguments);
    return -1;
}

static PyObject *as_result(const int64_t *results, int count) {
    if (count == 0) return Py_BuildValue("");
    if (count == 1) return PyLong_FromLongLong(results[0]);
    PyObject *made = PyTuple_New(count);
    for (int at = 0; made && at < count; at++) {
        PyObject *number = PyLong_FromLongLong(results[at]);
        if (!number || PyTuple_SetItem(made, at, number)) {
            Py_DecRef(made);
            made = NULL;
        }
    }
    return made;
}

static PyObject *call_kernel(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    const kernel *called = PyCapsule_GetPointer(self, NULL);
    call this_call;
    this_call.held = this_call.used = 0;
    int64_t results[MOST_RESULTS + 1];
    if (take_all(&this_call, arguments, count, called)) {
        release(&this_call);
        return NULL;
    }
    PyThreadState *state = PyEval_SaveThread();
    int32_t status = called->levels[level](this_call.words, results);
    PyEval_RestoreThread(state);
    release(&this_call);
    if (status) return PyErr_Format(PyExc_RuntimeError, "%s: failed with status %d", called->name, (int)status);
    return as_result(results, called->results);
}

/* The highest level of this processor; -1 if it is below all of them. Compilers differ in how they
   link their own functions for this, so the registers are read here. */
#if defined(__x86_64__)
#include <cpuid.h>
static int has(unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; }

static int level_of_processor(void) {
    unsigned a, b, c, d, low, high, extended = 0, more = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return -1;
    unsigned features = c;
    /* v2: SSE3, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT */
    if (!has(features, 1u | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23)) return -1;
    /* v3: FMA, MOVBE, OSXSAVE, AVX, F16C, and registers that the system saves */
    if (!has(features, 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29)) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if (!has(low, 6)) return 0;
    /* v3: BMI1, AVX2, BMI2, then LAHF and LZCNT */
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) more = b;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d)) extended = c;
    return has(more, 1u << 3 | 1u << 5 | 1u << 8) && has(extended, 1u | 1u << 5) ? 1 : 0;
}

static int has_crc_instruction(void) { return 1; } /* a part of v2 */
#else
static int level_of_processor(void) { return 0; }

#if defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
static int has_crc_instruction(void) { return (getauxval(AT_HWCAP) >> 7 & 1) != 0; } /* HWCAP_CRC32 */
#else
static int has_crc_instruction(void) { return 1; } /* each 64-bit processor of Apple's */
#endif
#endif

/* CORDWOOD_CPU_LEVEL names a lower level than the processor's, for tests. */
static int choose_level(void) {
    int highest = level_of_processor();
    if (highest >= LEVELS) highest = LEVELS - 1;
    const char *wanted = getenv("CORDWOOD_CPU_LEVEL");
    for (int at = 0; wanted && at < highest; at++)
        if (!strcmp(wanted, level_names[at])) return at;
    return highest;
}

static int add_kernels(PyObject *table) {
    for (int at = 0; at < KERNELS; at++) {
        PyObject *self = PyCapsule_New((void *)&kernels[at], NULL, NULL);
        methods[at].ml_name = kernels[at].name;
        methods[at].ml_meth = (PyCFunction)(void (*)(void))call_kernel;
        methods[at].ml_flags = METH_FASTCALL;
        methods[at].ml_doc = kernels[at].arguments; /* compared with the definition at import */
        PyObject *function = self ? PyCFunction_NewEx(&methods[at], self, NULL) : NULL;
        int failed = !function || PyDict_SetItemString(table, kernels[at].name, function);
        if (function) Py_DecRef(function);
        if (self) Py_DecRef(self);
        if (failed) return -1;
    }
    return 0;
}

static int fill_module(PyObject *module) {
    level = choose_level();
    if (level < 0) {
        PyErr_Format(PyExc_ImportError, "this processor is below the level %s of the kernels", level_names[0]);
        return -1;
    }
    PyObject *table = PyDict_New();
    if (!table) return -1;
    int failed = add_kernels(table) || PyModule_AddObjectRef(module, "KERNELS", table);
    Py_DecRef(table);
    if (failed || PyModule_AddStringConstant(module, "LEVEL", level_names[level])) return -1;
    if (PyModule_AddIntConstant(module, "HAS_CRC_INSTRUCTION", has_crc_instruction())) return -1;
    return PyModule_AddStringConstant(module, "FINGERPRINT", FINGERPRINT);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill_module}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_machine", NULL, 0, NULL, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__machine(void) { return PyModuleDef_Init(&definition); }
