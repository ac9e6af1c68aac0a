// The first file of the package. It must load with any Node, to say which one Deskbell needs.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  console.error(`Deskbell needs Node 24 or newer. This is Node ${process.versions.node}.`);
  process.exit(1);
}
await import('./cli.js');
