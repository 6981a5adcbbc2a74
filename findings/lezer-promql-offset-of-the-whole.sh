#!/usr/bin/env bash
# @prometheus-io/lezer-promql 0.315.0 (npm), the grammar of the editors of Prometheus and Grafana, reads `a - a offset 1d` as (a - a) offset 1d, and
# `a * b @ 0` as (a * b) @ 0, where Prometheus 3.5.0 (Go module v0.305.0) reads a - (a offset 1d); -2 ^ 2 is (-2) ^ 2, not -(2 ^ 2). There is
# no error in such a tree, but who looks in it for what an offset shifts or an operator joins finds something else. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @prometheus-io/lezer-promql@0.315.0 @lezer/common@1.5.5 \
  @lezer/highlight@1.2.5 @lezer/lr@1.4.12 >/dev/null
queries=('a - a offset 1d' 'a - (a offset 1d)' 'a or b offset 1d' 'a * b @ 0' 'a offset 1d - a' '-2 ^ 2' '-a ^ 2')
cat >tree.mjs <<'END'
import { parser } from '@prometheus-io/lezer-promql';

function brackets(node, query) {
  const parts = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) parts.push(child);
  if (node.type.isError) throw new Error(query);
  if (!/Expr|PromQL/.test(node.name) || parts.length === 0) return query.slice(node.from, node.to);
  const text = parts.map((part) => brackets(part, query)).join(' ');
  return /^(Binary|Unary|Offset|StepInvariant)Expr$/.test(node.name) ? `(${text})` : text;
}
for (const query of process.argv.slice(2)) console.log(`${query}: ${brackets(parser.parse(query).topNode, query)}`);
END
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"

	"github.com/prometheus/prometheus/promql/parser"
)

func brackets(expression parser.Expr) string {
	switch e := expression.(type) {
	case *parser.BinaryExpr:
		return fmt.Sprintf("(%s %s %s)", brackets(e.LHS), e.Op, brackets(e.RHS))
	case *parser.UnaryExpr:
		return fmt.Sprintf("(%s %s)", e.Op, brackets(e.Expr))
	case *parser.ParenExpr:
		return brackets(e.Expr)
	case *parser.VectorSelector:
		if e.OriginalOffset != 0 || e.Timestamp != nil {
			return "(" + e.String() + ")"
		}
	}
	return expression.String()
}

func main() {
	for _, query := range os.Args[1:] {
		expression, err := parser.ParseExpr(query)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %s\n", query, brackets(expression))
	}
}
END
go mod init x 2>/dev/null
go get github.com/prometheus/prometheus/promql/parser@v0.305.0 2>/dev/null
seen=$(node tree.mjs "${queries[@]}"; echo Prometheus; go run . "${queries[@]}")
echo "$seen"
[ "$seen" = 'a - a offset 1d: ((a - a) offset 1d)
a - (a offset 1d): (a - (a offset 1d))
a or b offset 1d: ((a or b) offset 1d)
a * b @ 0: ((a * b) @ 0)
a offset 1d - a: ((a offset 1d) - a)
-2 ^ 2: (-2 ^ 2)
-a ^ 2: (- (a ^ 2))
Prometheus
a - a offset 1d: (a - (a offset 1d))
a - (a offset 1d): (a - (a offset 1d))
a or b offset 1d: (a or (b offset 1d))
a * b @ 0: (a * (b @ 0.000))
a offset 1d - a: ((a offset 1d) - a)
-2 ^ 2: (- (2 ^ 2))
-a ^ 2: (- (a ^ 2))' ]
