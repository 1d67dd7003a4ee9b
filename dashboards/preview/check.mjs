// Holds every dashboard against the types that Grafana publishes of its dashboards and panels (@grafana/schema).
import { mkdtempSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';

const here = import.meta.dirname;
const folder = path.join(here, '..');
const scratch = mkdtempSync(path.join(tmpdir(), 'rocewatch-schema-'));
symlinkSync(path.join(here, 'node_modules'), path.join(scratch, 'node_modules'));

// Lit takes the values of an enum for the enum, as they stand in JSON. Grafana types neither what an annotation of
// Prometheus asks nor what a panel of some type holds in the dashboard as a whole: both are added here.
const head = `
import type { Dashboard, Panel, RowPanel, AnnotationQuery } from './node_modules/@grafana/schema/dist/types/raw/dashboard/x/types.gen.js';
import type { Options as timeseries, FieldConfig as timeseriesField } from './node_modules/@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen.js';
import type { Options as stat } from './node_modules/@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen.js';
import type { Options as bargauge } from './node_modules/@grafana/schema/dist/types/raw/composable/bargauge/panelcfg/x/types.gen.js';
import type { Options as table, FieldConfig as tableField } from './node_modules/@grafana/schema/dist/types/raw/composable/table/panelcfg/x/types.gen.js';
import type { Options as text } from './node_modules/@grafana/schema/dist/types/raw/composable/text/panelcfg/x/types.gen.js';
type Lit<T> = T extends string ? (string extends T ? T : \`\${T}\`) : T extends number | boolean | null | undefined ? T
  : T extends (infer U)[] ? Lit<U>[] : T extends object ? { [K in keyof T]: Lit<T[K]> } : T;
interface PrometheusAnnotation extends AnnotationQuery { expr: string; step: string; titleFormat: string; textFormat: string }
type Of<T extends string, O, F = never> = Lit<Omit<Panel, 'type' | 'options' | 'fieldConfig'>> & { type: T; options: Lit<O> } &
  ([F] extends [never] ? { fieldConfig?: Lit<Panel['fieldConfig']> } : { fieldConfig: { defaults: Lit<Omit<NonNullable<Panel['fieldConfig']>['defaults'], 'custom'>> & { custom: Lit<F> }; overrides: Lit<NonNullable<Panel['fieldConfig']>['overrides']> } });
type AnyPanel = Lit<RowPanel> | Of<'timeseries', timeseries, timeseriesField> | Of<'stat', stat> | Of<'bargauge', bargauge>
  | Of<'table', table, Partial<tableField>> | Of<'text', text>;
type Checked = Lit<Omit<Dashboard, 'annotations' | 'panels'>> & { annotations: { list: Lit<PrometheusAnnotation>[] }; panels: AnyPanel[] };
`;

const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
const sources = names.map((name) => {
  const file = path.join(scratch, name.replace('.json', '.ts'));
  writeFileSync(file, `${head}export const dashboard: Checked = ${readFileSync(path.join(folder, name))};\n`);
  return file;
});
const options = '--noEmit --strict --skipLibCheck --module nodenext --moduleResolution nodenext --target es2022'.split(' ');
const tsc = path.join(here, 'node_modules', '.bin', 'tsc');
const { status } = spawnSync(tsc, [...options, ...sources], { cwd: scratch, stdio: 'inherit' });
console.log(status === 0 ? `${names.length} dashboards are as Grafana's types say` : 'refused');
process.exit(status ?? 1);
