"""Mutants of a module: copies that differ in one place, each of which should be noticed.

    compare      another comparison, at the border and beyond it
    arithmetic   another operator
    logic        and for or, a condition turned round
    constant     a number one larger, a truth turned round
    drop         a statement that is not there

Types, docstrings, asserts and what a module declares are let alone: they decide nothing.
"""

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

_COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_STATEMENTS: Final = (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Continue)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutant:
    """One change: its module and function, the text that was there and the text that is now.

    `module` is the dotted name below the package. `tree` makes the module with the change in it.
    """

    module: str
    function: str
    statement: str
    was: str
    now: str
    tree: Callable[[], ast.Module]

    def __str__(self) -> str:
        where = f"{self.module.rpartition('.')[2]}.{self.function}: {self.statement}"
        return f"{where} | {self.was} -> {self.now}"


def mutants_of(package: Path, module: str) -> Iterator[Mutant]:
    """Yield the mutants of a module (its dotted name in the package), in the order of its text."""
    tree = _parse(package, module)
    for name, function in _functions(tree):
        nodes = [node for node in ast.walk(function) if not _is_let_alone(node, function)]
        for node in nodes:
            for now in _changed(node):
                where = (module, name, _words(_statement_of(node, function)))
                yield Mutant(*where, _words(node), _words(now), partial(_copy, tree, node, now))


def unchanged(package: Path, module: str) -> Mutant:
    """Return a module as it is: the control, which must pass every check."""
    return Mutant(module, "", "", "", "", partial(_parse, package, module))


def _parse(package: Path, module: str) -> ast.Module:
    return ast.parse((package / f"{module.replace('.', '/')}.py").read_text())


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        yield from ((prefix + each.name, each) for each in inner if isinstance(each, Function))


def _is_let_alone(node: ast.AST, function: Function) -> bool:
    """Whether a node is part of a signature, a type, a docstring or an assert."""
    parts: list[ast.AST] = [function.args, *function.decorator_list]
    if function.returns is not None:
        parts.append(function.returns)
    parts += [each for each in ast.walk(function) if isinstance(each, ast.Assert)]
    parts += [each.annotation for each in ast.walk(function) if isinstance(each, ast.AnnAssign)]
    parts += [each for each in function.body[:1] if _is_text(each)]
    return any(node is inner for part in parts for inner in ast.walk(part))


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in a node's place."""
    for change in (_compared, _calculated, _reasoned, _counted, _dropped):
        yield from change(node)


def _compared(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                yield ast.Compare(left=node.left, ops=ops, comparators=node.comparators)


def _calculated(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            yield ast.BinOp(left=left, op=_OPERATORS[type(operator)](), right=right)
        case ast.AugAssign(target=target, op=operator, value=value):
            if type(operator) in _OPERATORS:
                yield ast.AugAssign(target=target, op=_OPERATORS[type(operator)](), value=value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield operand


def _reasoned(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.BoolOp(op=operator, values=values):
            other_logic = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield ast.BoolOp(op=other_logic, values=values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.If(test=test, body=body, orelse=orelse):
            yield ast.If(test=_not(test), body=body, orelse=orelse)
        case ast.IfExp(test=test, body=one, orelse=other):
            yield ast.IfExp(test=_not(test), body=one, orelse=other)
        case ast.comprehension(target=target, iter=source, ifs=[test, *more], is_async=kind):
            ifs = [_not(test), *more]
            yield ast.comprehension(target=target, iter=source, ifs=ifs, is_async=kind)


def _counted(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(value=not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value=value + 1)


def _dropped(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Return) and not _is_none(node.value):
        yield ast.Return(value=ast.Constant(value=None))
    elif isinstance(node, _STATEMENTS) and not _is_text(node):
        yield ast.Pass()


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def _not(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(op=ast.Not(), operand=test)


def _copy(tree: ast.Module, node: ast.AST, now: ast.AST) -> ast.Module:
    """Copy a tree with one node replaced by another."""
    return ast.fix_missing_locations(deepcopy(tree, {id(node): now}))


def _statement_of(node: ast.AST, function: Function) -> ast.AST:
    """Return the innermost statement that has a node."""
    statements = [each for each in ast.walk(function) if isinstance(each, ast.stmt)]
    return [each for each in statements if any(node is one for one in ast.walk(each))][-1]


def _words(node: ast.AST) -> str:
    """Return the first line of a node as it is written."""
    return ast.unparse(node).strip().splitlines()[0]
