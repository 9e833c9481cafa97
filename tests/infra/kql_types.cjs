// Reads {tables: {name: {column: type}}, queries: {name: text}} from standard input and prints
// {name: [message]}: what Microsoft's Kusto analyser has against each query, given these tables.
require('@kusto/language-service-next/bridge.min.js');
require('@kusto/language-service-next/Kusto.Language.Bridge.min.js');
const { readFileSync } = require('node:fs');

const { Symbols, GlobalState, KustoCode } = Kusto.Language;
const input = JSON.parse(readFileSync(0, 'utf8'));

const tables = Object.entries(input.tables).map(([name, columns]) => {
  const schema = Object.entries(columns).map(([column, type]) => `${column}:${type}`).join(', ');
  return Symbols.TableSymbol.From(`(${schema})`).WithName(name);
});
const workspace = new Symbols.DatabaseSymbol.ctor('workspace', tables);
const globals = GlobalState.Default.WithDatabase(workspace);

const messages = (text) => {
  const found = KustoCode.ParseAndAnalyze(text, globals).GetDiagnostics();
  return Array.from({ length: found.Count }, (_, i) => found.getItem(i)).map(
    (one) => `${one.Severity}: ${one.Message}`,
  );
};
const answer = Object.fromEntries(
  Object.entries(input.queries).map(([name, text]) => [name, messages(text)]),
);
process.stdout.write(JSON.stringify(answer));
