#!/usr/bin/env bash
# @grafana/data 13.2.3: transformations make values of what has none. A null is 0 in "Add field from calculation": 3 - null is 3, exp(null) is 1,
# and it counts in its median and its cumulative mean, but not in its mean. A row without a value is "lower than 1". "Convert field type" makes
# true of the text false, 15 of 1,5 (1,500 loses its comma, too), and puts quotes around a text that is to be a text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @grafana/data@13.2.3 >/dev/null
cat >"$folder/transform.cjs" <<'END'
globalThis.navigator ??= { language: 'en-US', languages: ['en-US'] };
const { FieldType, standardTransformers, standardTransformersRegistry, toDataFrame, transformDataFrame } = require('@grafana/data');
const { calculateFieldTransformer, convertFieldTypeTransformer, filterByValueTransformer } = standardTransformers;
const used = [calculateFieldTransformer, convertFieldTypeTransformer, filterByValueTransformer];
standardTransformersRegistry.setInit(() => used.map((one) => ({ id: one.id, name: one.name, transformation: async () => one })));
// It looks for Grafana's scenes there.
globalThis.window = {};

const fields = {
  a: { type: FieldType.number, values: [3, null] },
  b: { type: FieldType.number, values: [null, 4] },
  text: { type: FieldType.string, values: ['false', '1,5'] },
};
const data = () => [toDataFrame({ fields: Object.entries(fields).map(([name, field]) => ({ name, ...field, values: [...field.values] })) })];
const field = (name) => ({ matcher: { id: 'byName', options: name } });
const show = (label, field, id, options) =>
  new Promise((resolve, reject) =>
    transformDataFrame([{ id, options }], data()).subscribe({
      next: ([frame]) => resolve(console.log(label, frame.fields.at(field).values.map(String).join(' | '))),
      error: reject,
    }),
  );
(async () => {
  const calculate = (label, options) => show(label, -1, 'calculateField', options);
  const all = ['a', 'b'];
  await show('a:', 0, 'calculateField', { mode: 'index' });
  await show('b:', 1, 'calculateField', { mode: 'index' });
  await show('text:', 2, 'calculateField', { mode: 'index' });
  for (const operator of ['-', '*', '/'])
    await calculate(`a ${operator} b:`, { mode: 'binary', binary: { left: field('a'), operator, right: field('b') } });
  await calculate('exp(a):', { mode: 'unary', unary: { fieldName: 'a', operator: 'exp' } });
  for (const reducer of ['mean', 'median']) await calculate(`${reducer} of a, b:`, { mode: 'reduceRow', reduce: { include: all, reducer } });
  await calculate('cumulative mean of a:', { mode: 'cumulativeFunctions', cumulative: { field: 'a', reducer: 'mean' } });
  const lower = { type: 'include', match: 'any', filters: [{ fieldName: 'a', config: { id: 'lower', options: { value: 1 } } }] };
  await show('a lower than 1:', 0, 'filterByValue', lower);
  for (const destinationType of ['boolean', 'number', 'string'])
    await show(`text as ${destinationType}:`, 2, 'convertFieldType', { conversions: [{ targetField: 'text', destinationType }] });
})();
END
seen=$(node "$folder/transform.cjs")
echo "$seen"
[ "$seen" = 'a: 3 | null
b: null | 4
text: false | 1,5
a - b: 3 | -4
a * b: 0 | 0
a / b: Infinity | 0
exp(a): 20.085536923187668 | 1
mean of a, b: 3 | 4
median of a, b: 1.5 | 2
cumulative mean of a: 3 | 1.5
a lower than 1: null
text as boolean: true | true
text as number: null | 15
text as string: "false" | "1,5"' ]
