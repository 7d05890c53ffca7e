import { tool } from '@langchain/core/tools';
import jsep from 'jsep';
import { z } from 'zod';

/** Longer expressions and deeper nesting serve nobody but an attacker; both are checked before anything is computed. */
const maxLength = 300;
const maxDepth = 60;

/**
 * The value of an arithmetic expression: + - * / % ^ (power), parentheses, pi, e and a few functions.
 * Parsed and walked, never evaluated as code.
 * @throws Error that says what is wrong with the expression
 */
export function calculate(expression: string): number {
  if (expression.length > maxLength)
    throw new Error(`The expression is longer than ${maxLength} characters.`);
  const source = expression
    .replace(/×/g, '*')
    .replace(/÷/g, '/')
    .replace(/−/g, '-')
    .replace(/\^/g, '**');
  // Half the world reads -2^2 as 4 and half as -4.
  if (/(?:^|[-+*/%(,])\s*-\s*[\w.]+\s*\*\*/.test(source))
    throw new Error('Write (-2)^2 or -(2^2); -2^2 is read in two ways.');
  const value = evaluate(parse(source), 0);
  if (!Number.isFinite(value)) throw new Error('The result is not a finite number.');
  // 0.1 + 0.2 is 0.3 to whoever asks a calculator.
  return Number(value.toPrecision(15));
}

export const createCalculator = () =>
  tool(({ expression }) => `${expression} = ${calculate(expression)}`, {
    name: 'calculator',
    description:
      'Computes an arithmetic expression: + - * / % ^, parentheses, pi, e, sqrt, abs, round, floor, ceil, min, max, ln, log10, exp, sin, cos, tan (radians).',
    schema: z.object({ expression: z.string().describe('For example (3 + 4) * 2^5') }),
  });

function parse(source: string): jsep.Expression {
  try {
    return jsep(source);
  } catch (error) {
    throw new Error('The expression cannot be read.', { cause: error });
  }
}

const constants: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E };

const functions: Readonly<Record<string, (...values: number[]) => number>> = {
  sqrt: Math.sqrt,
  abs: Math.abs,
  round: Math.round,
  floor: Math.floor,
  ceil: Math.ceil,
  min: Math.min,
  max: Math.max,
  ln: Math.log,
  log10: Math.log10,
  exp: Math.exp,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
};

const operators: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
  '**': (left, right) => left ** right,
};

const own = <T>(table: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

function evaluate(node: jsep.Expression, depth: number): number {
  if (depth > maxDepth) throw new Error('The expression is nested too deeply.');
  const inner = (child: unknown): number => evaluate(child as jsep.Expression, depth + 1);
  switch (node.type) {
    case 'Literal':
      if (typeof node.value === 'number') return node.value;
      break;
    case 'Identifier': {
      const value = own(constants, node.name as string);
      if (value !== undefined) return value;
      break;
    }
    case 'UnaryExpression':
      if (node.operator === '-') return -inner(node.argument);
      if (node.operator === '+') return inner(node.argument);
      break;
    case 'BinaryExpression': {
      const operate = own(operators, node.operator as string);
      if (operate !== undefined) return operate(inner(node.left), inner(node.right));
      break;
    }
    case 'CallExpression': {
      const callee = node.callee as jsep.Expression;
      const call = callee.type === 'Identifier' ? own(functions, callee.name as string) : undefined;
      if (call !== undefined) return call(...(node.arguments as unknown[]).map(inner));
      break;
    }
  }
  throw new Error('Only numbers, + - * / % ^, parentheses, pi, e and the listed functions work.');
}
