<?xml version="1.0" encoding="UTF-8"?>
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:variable name="title">Queue</xsl:variable>
<xsl:variable name="here">/web/queue</xsl:variable>
<xsl:key name="queued" match="/page/jobs/jobs/item" use="@job"/>

<xsl:template name="content">
	<xsl:choose>
		<xsl:when test="not(prio/rows/item) and not(jobs/jobs/item)"><p class="none">No job waits.</p></xsl:when>
		<xsl:when test="prio/rows/item">
			<p>In the order of their priority, which is the sum of the factors.</p>
			<div class="scroll" tabindex="0" role="region" aria-label="Queue">
			<table>
				<thead><tr><th scope="col" class="figure">Place</th><th scope="col">Job</th><th scope="col">User</th><th scope="col">Account</th><th scope="col">Queue</th>
					<th scope="col" class="figure">Priority</th><th scope="col" class="figure">Fairshare</th><th scope="col" class="figure">Age</th>
					<th scope="col" class="figure">Size</th><th scope="col" class="figure">QOS</th><th scope="col">Why it waits</th></tr></thead>
				<tbody><xsl:for-each select="prio/rows/item">
					<xsl:sort select="@priority" data-type="number" order="descending"/>
					<xsl:sort select="@job" data-type="number"/>
					<tr><td class="figure"><xsl:value-of select="position()"/></td>
					<th scope="row"><xsl:call-template name="job-link"/></th><td><xsl:value-of select="@user"/></td><td><xsl:value-of select="@account"/></td><td><xsl:value-of select="@queue"/></td>
					<td class="figure"><xsl:value-of select="f:count(@priority)"/></td>
					<td class="figure"><xsl:value-of select="f:count(factors/item[@factor = 'fairshare']/@product)"/></td><td class="figure"><xsl:value-of select="f:count(factors/item[@factor = 'age']/@product)"/></td>
					<td class="figure"><xsl:value-of select="f:count(factors/item[@factor = 'size']/@product)"/></td><td class="figure"><xsl:value-of select="f:count(factors/item[@factor = 'qos']/@product)"/></td>
					<td class="sentence"><xsl:value-of select="key('queued', @job)/@why"/></td></tr>
				</xsl:for-each></tbody>
			</table>
			</div>
		</xsl:when>
		<xsl:otherwise>
			<p>In the order of submission: this site starts jobs without priorities.</p>
			<div class="scroll" tabindex="0" role="region" aria-label="Queue"><table>
				<thead><tr><th scope="col">Job</th><th scope="col">User</th><th scope="col">Account</th><th scope="col">Submitted</th><th scope="col">Why it waits</th></tr></thead>
				<tbody><xsl:for-each select="jobs/jobs/item">
					<xsl:sort select="@job" data-type="number"/>
					<tr><th scope="row"><xsl:call-template name="job-link"/></th><td><xsl:value-of select="@user"/></td><td><xsl:value-of select="@account"/></td>
					<td><xsl:value-of select="f:time(@submitted_ns)"/></td><td class="sentence"><xsl:value-of select="@why"/></td></tr>
				</xsl:for-each></tbody>
			</table></div>
		</xsl:otherwise>
	</xsl:choose>
</xsl:template>
</xsl:stylesheet>
