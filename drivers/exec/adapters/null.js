'use strict';
// A lock that excludes nobody: what an adapter in Node costs.
const { serve } = require('./lines.js');

const client = { try: () => ({ held: true }), release: () => ({ owned: true }) };
serve(
  {
    library: { name: 'node', version: process.versions.node },
    designs: [{ name: 'none', traits: {}, models: 'nothing' }],
  },
  () => ({ traits: {}, session: () => client }),
);
