/** In each worker: ends it with the runner, even a killed one, so that the servers of its tests end too. */
process.once('disconnect', () => process.exit(1));
