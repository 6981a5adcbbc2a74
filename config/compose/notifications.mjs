// Prints the notifications of Alertmanager, one line for each alert: docker compose logs --follow notifications
// Stands for the receivers of config/alertmanager/alertmanager.example.yml. The argument is its port.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

async function print(request, response) {
  try {
    const { alerts } = await json(request);
    for (const { status, labels, annotations = {} } of alerts) {
      const { alertname, severity, crdb_cluster: cluster = '-' } = labels;
      const text = `${request.url} ${status} ${severity} ${cluster} ${alertname}: ${annotations.summary ?? ''}`;
      // Names in alerts come from clusters: nothing here may control a terminal.
      process.stdout.write(`${text.replaceAll(/\p{C}/gu, '?')}\n`);
    }
    response.end();
  } catch (error) {
    response.writeHead(400).end(`${String(error)}\n`);
  }
}

const server = createServer((request, response) => void print(request, response));
server.listen(Number(process.argv[2]), '127.0.0.1', () => {
  process.stdout.write(`notifications arrive at http://127.0.0.1:${server.address().port}\n`);
});
process.once('SIGTERM', () => process.exit(0));
