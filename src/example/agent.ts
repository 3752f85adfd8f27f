/** What `ledgerline worker` runs of the worked example: `ledgerline worker node_modules/ledgerline/dist/example/agent.js`. */
import { supportAgent } from './support-agent.ts';

export default supportAgent();
