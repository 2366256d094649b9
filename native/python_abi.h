/* The part of Python's stable ABI (3.11 and later) that `machine.c` uses.

   With these declarations a build needs no headers of Python: an installation without its package
   for developers, or of another system, has none. tests/native compares them with <Python.h>. */
#include <stddef.h>

typedef ptrdiff_t Py_ssize_t;
typedef struct _object PyObject;
typedef struct _frozen PyThreadState;
struct _object {
    Py_ssize_t ob_refcnt;
    void *ob_type;
};

typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len;
    Py_ssize_t itemsize;
    int readonly;
    int ndim;
    char *format;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    Py_ssize_t *suboffsets;
    void *internal;
} Py_buffer;

#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT 0x0004
#define PyBUF_ND 0x0008
#define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#define PyBUF_C_CONTIGUOUS (0x0020 | PyBUF_STRIDES)

typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);
typedef struct {
    const char *ml_name;
    PyCFunction ml_meth;
    int ml_flags;
    const char *ml_doc;
} PyMethodDef;
#define METH_FASTCALL 0x0080

typedef struct {
    int slot;
    void *value;
} PyModuleDef_Slot;
#define Py_mod_exec 2

typedef struct {
    struct _object ob_base;
    PyObject *(*m_init)(void);
    Py_ssize_t m_index;
    PyObject *m_copy;
} PyModuleDef_Base;
#define PyModuleDef_HEAD_INIT {{1, NULL}, NULL, 0, NULL}

typedef struct PyModuleDef {
    PyModuleDef_Base m_base;
    const char *m_name;
    const char *m_doc;
    Py_ssize_t m_size;
    PyMethodDef *m_methods;
    PyModuleDef_Slot *m_slots;
    void *m_traverse;
    void *m_clear;
    void *m_free;
} PyModuleDef;

#define PyMODINIT_FUNC __attribute__((visibility("default"))) PyObject *

extern PyObject *PyExc_ImportError, *PyExc_RuntimeError, *PyExc_TypeError, *PyExc_ValueError;

int PyObject_GetBuffer(PyObject *, Py_buffer *, int);
void PyBuffer_Release(Py_buffer *);
PyObject *PyErr_Format(PyObject *, const char *, ...);
PyObject *PyErr_Occurred(void);
PyObject *PyNumber_Index(PyObject *);
long long PyLong_AsLongLong(PyObject *);
PyObject *PyLong_FromLongLong(long long);
PyObject *PyTuple_New(Py_ssize_t);
Py_ssize_t PyTuple_Size(PyObject *);
PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
PyObject *PyDict_New(void);
int PyDict_SetItemString(PyObject *, const char *, PyObject *);
PyObject *PyCapsule_New(void *, const char *, void (*)(PyObject *));
void *PyCapsule_GetPointer(PyObject *, const char *);
PyObject *PyCFunction_NewEx(PyMethodDef *, PyObject *, PyObject *);
PyObject *Py_BuildValue(const char *, ...);
PyThreadState *PyEval_SaveThread(void);
void PyEval_RestoreThread(PyThreadState *);
void Py_DecRef(PyObject *);
int PyModule_AddObjectRef(PyObject *, const char *, PyObject *);
int PyModule_AddStringConstant(PyObject *, const char *, const char *);
int PyModule_AddIntConstant(PyObject *, const char *, long);
PyObject *PyModuleDef_Init(PyModuleDef *);
